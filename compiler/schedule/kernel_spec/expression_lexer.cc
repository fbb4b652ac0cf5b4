#include "compiler/schedule/kernel_spec/expression_lexer.h"

#include "compiler/schedule/kernel_spec/expression_node.h"

namespace mlc::schedule {

Status ExpressionError(const std::string& text, size_t column, const std::string& what) {
  constexpr size_t kShown = 200;
  return InvalidArgument("column " + std::to_string(column) + " of '" + text.substr(0, kShown) +
                         (text.size() > kShown ? "...'" : "'") + ": " + what);
}

namespace {

using Kind = ExpressionToken::Kind;

// The longer ones first.
constexpr std::string_view kSymbols[] = {"**", "//", "<=", ">=", "==", "!=", "+", "-", "*",
                                         "/",  "%",  "<",  ">",  "(",  ")",  "[", "]", ","};

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Of an exponent.
bool IsSign(std::string_view rest, size_t at) {
  return (rest[at] == '+' || rest[at] == '-') && at > 0 &&
         (rest[at - 1] == 'e' || rest[at - 1] == 'E') && !rest.starts_with("0x");
}

size_t NumberLength(std::string_view rest) {
  size_t length = 0;
  while (length < rest.size() &&
         (IsNameCharacter(rest[length]) || rest[length] == '.' || IsSign(rest, length))) {
    ++length;
  }
  return length;
}

std::string BadCharacter(std::string_view rest) {
  if (rest.starts_with("&&")) return "'&&' is written 'and'";
  if (rest.starts_with("||")) return "'||' is written 'or'";
  if (rest[0] == '!') return "'!' is written 'not'";
  return "an unexpected character";
}

}  // namespace

bool IsNameCharacter(char c) { return IsLetter(c) || IsDigit(c); }

void ExpressionLexer::Take(Kind kind, size_t length) {
  next_ = {kind, std::string_view(text_).substr(at_, length), at_ + 1};
  at_ += length;
}

Status ExpressionLexer::Advance() {
  constexpr std::string_view kSpaces = " \t\r\n";
  while (at_ < text_.size() && kSpaces.find(text_[at_]) != std::string_view::npos) ++at_;
  next_ = {Kind::kEnd, {}, at_ + 1};
  if (at_ == text_.size()) return Status();
  const std::string_view rest = std::string_view(text_).substr(at_);
  if (IsDigit(rest[0]) || (rest[0] == '.' && rest.size() > 1 && IsDigit(rest[1]))) {
    Take(Kind::kNumber, NumberLength(rest));
    return Status();
  }
  if (IsLetter(rest[0])) {
    size_t length = 1;
    while (length < rest.size() && IsNameCharacter(rest[length])) ++length;
    Take(Kind::kWord, length);
    return Status();
  }
  if (rest[0] == '"' || rest[0] == '\'') {
    const size_t end = rest.find(rest[0], 1);
    if (end == std::string_view::npos) {
      return ExpressionError(text_, at_ + 1, "the string has no end");
    }
    if (rest.substr(0, end).find('\\') != std::string_view::npos) {
      return ExpressionError(text_, at_ + 1, "a string with an escape is not supported");
    }
    Take(Kind::kString, end + 1);
    return Status();
  }
  for (const std::string_view symbol : kSymbols) {
    if (!rest.starts_with(symbol)) continue;
    Take(Kind::kSymbol, symbol.size());
    return Status();
  }
  return ExpressionError(text_, at_ + 1, BadCharacter(rest));
}

}  // namespace mlc::schedule
