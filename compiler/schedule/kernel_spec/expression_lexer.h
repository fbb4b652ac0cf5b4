// The tokens of an expression. Private to this folder. Not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace mlc::schedule {

struct ExpressionToken {
  enum class Kind : uint8_t { kEnd, kNumber, kString, kWord, kSymbol };
  Kind kind = Kind::kEnd;
  std::string_view text;  // of a string: with its quotes
  size_t column = 1;
};

bool IsNameCharacter(char c);

class ExpressionLexer {
 public:
  explicit ExpressionLexer(std::string_view text) : text_(text) {}

  const std::string& text() const { return text_; }
  // The last token that was read; it refers to text().
  const ExpressionToken& next() const { return next_; }
  // The position behind it.
  size_t at() const { return at_; }
  // Reads one more. INVALID_ARGUMENT with the column for what begins no token.
  Status Advance();

 private:
  void Take(ExpressionToken::Kind kind, size_t length);

  const std::string text_;
  size_t at_ = 0;
  ExpressionToken next_;
};

}  // namespace mlc::schedule
