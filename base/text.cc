#include "base/text.h"

#include <cctype>
#include <charconv>
#include <cmath>

namespace mlc {

namespace {

bool IsWordChar(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '-';
}

}  // namespace

void Lexer::SkipSpace() {
  while (pos_ < text_.size()) {
    if (text_[pos_] == '#') {
      while (pos_ < text_.size() && text_[pos_] != '\n') ++pos_;
    } else if (std::isspace(static_cast<unsigned char>(text_[pos_]))) {
      ++pos_;
    } else {
      return;
    }
  }
}

bool Lexer::Accept(std::string_view token) {
  if (text_.substr(pos_, token.size()) != token) return false;
  const size_t end = pos_ + token.size();
  const bool is_word =
      std::isalnum(static_cast<unsigned char>(token.back())) || token.back() == '_';
  if (is_word && end < text_.size() && IsWordChar(text_[end])) return false;
  pos_ = end;
  SkipSpace();
  return true;
}

Status Lexer::Expect(std::string_view token) {
  if (Accept(token)) return {};
  return Error("expected '" + std::string(token) + "'");
}

Status Lexer::Version(int known) {
  const std::string expected = "v" + std::to_string(known);
  if (Accept(expected)) return {};
  int64_t found = -1;
  if (PeekChar() == 'v') {
    (void)std::from_chars(text_.data() + pos_ + 1, text_.data() + text_.size(), found);
  }
  if (found < 0) return Error("expected '" + expected + "'");
  return FailedPrecondition(Place() + ": the text is of version " + std::to_string(found) +
                            ", this program reads version " + std::to_string(known) +
                            ": use a program of the release that wrote it");
}

Result<std::string> Lexer::Word() {
  const char first = PeekChar();
  if (!std::isalpha(static_cast<unsigned char>(first)) && first != '_') {
    return Error("expected a word");
  }
  const size_t begin = pos_;
  while (pos_ < text_.size() && IsWordChar(text_[pos_])) ++pos_;
  std::string word(text_.substr(begin, pos_ - begin));
  SkipSpace();
  return word;
}

Result<int64_t> Lexer::Int() {
  int64_t value = 0;
  const char* begin = text_.data() + pos_;
  const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
  if (error != std::errc()) return Error("expected an integer that fits 64 bits");
  pos_ += static_cast<size_t>(end - begin);
  SkipSpace();
  return value;
}

Result<double> Lexer::Float() {
  double value = 0;
  const char* begin = text_.data() + pos_;
  const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
  if (error != std::errc()) return Error("expected a number");
  pos_ += static_cast<size_t>(end - begin);
  SkipSpace();
  return value;
}

Result<std::vector<int64_t>> Lexer::IntList() {
  MLC_TRY(Expect("["));
  std::vector<int64_t> values;
  if (Accept("]")) return values;
  do {
    values.push_back(MLC_TRY(Int()));
  } while (Accept(","));
  MLC_TRY(Expect("]"));
  return values;
}

bool Lexer::PeekNumber() const {
  const char c = PeekChar();
  return std::isdigit(static_cast<unsigned char>(c)) || c == '-' || c == '.';
}

std::string Lexer::Place() const {
  size_t line = 1, column = 1;
  for (size_t i = 0; i < pos_; ++i) {
    if (text_[i] == '\n') {
      ++line;
      column = 1;
    } else {
      ++column;
    }
  }
  return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

Status Lexer::Error(std::string_view what) const {
  std::string near(text_.substr(pos_, 20));
  if (const size_t newline = near.find('\n'); newline != std::string::npos) near.resize(newline);
  return InvalidArgument(Place() + ": " + std::string(what) +
                         (AtEnd() ? ", found the end" : ", found '" + near + "'"));
}

std::string FloatToText(double value) {
  char buffer[32];
  const auto result = std::to_chars(buffer, buffer + sizeof(buffer), value);
  std::string text(buffer, result.ptr);
  if (std::isfinite(value) && text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string IntListToText(const std::vector<int64_t>& values) {
  std::string text = "[";
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) text += ',';
    text += std::to_string(values[i]);
  }
  return text + "]";
}

}  // namespace mlc
