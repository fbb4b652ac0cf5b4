// What all text forms share: a lexer over one string, and the shortest numbers that read back as
// the same value. Text forms are ASCII; '#' starts a comment that ends with the line. Not
// thread-safe; borrows its input.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace mlc {

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) { SkipSpace(); }

  bool AtEnd() const { return pos_ == text_.size(); }
  // Consumes `token` if the input continues with it. If the token is a word, it must not be the
  // start of a longer word.
  bool Accept(std::string_view token);
  Status Expect(std::string_view token);
  // Reads the version of a form, such as "v1". FAILED_PRECONDITION, with what to do, if it is not
  // `known`.
  Status Version(int known);
  // [A-Za-z_][A-Za-z0-9_.-]*
  Result<std::string> Word();
  Result<int64_t> Int();
  // Decimal or hexadecimal float, "inf", "-inf", "nan".
  Result<double> Float();
  // '[' int (',' int)* ']' , possibly empty.
  Result<std::vector<int64_t>> IntList();
  // True if the next token is a number.
  bool PeekNumber() const;
  char PeekChar() const { return AtEnd() ? '\0' : text_[pos_]; }
  // INVALID_ARGUMENT with line and column of the current position.
  Status Error(std::string_view what) const;

 private:
  void SkipSpace();
  std::string Place() const;

  std::string_view text_;
  size_t pos_ = 0;
};

// The shortest decimal text that reads back as the same double; integers keep ".0".
std::string FloatToText(double value);
// "[1,2,3]"
std::string IntListToText(const std::vector<int64_t>& values);

}  // namespace mlc
