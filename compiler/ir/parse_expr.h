// Expressions of the text form. Nothing is folded; types are checked as they are met. Not
// thread-safe; borrows the scope.
#pragma once

#include <cstdint>
#include <string>

#include "compiler/ir/parse_scope.h"

namespace mlc::ir {

class ExpressionParser {
 public:
  explicit ExpressionParser(ParseScope& scope) : scope_(scope), lexer_(scope.lexer) {}

  Result<ExprRef> ParseIndex(int depth);  // an i64 scalar
  Result<ExprRef> ParseExpr(int depth);
  // What follows the index of an access, with "]".
  Status ParseStrideAndMask(int depth, int64_t* stride, ExprRef* mask);

 private:
  Result<ExprRef> ParseLoad(const std::string& name, int depth);
  Result<DType> ParseType();
  Result<ExprRef> ParseCall(const std::string& word, int depth);
  Result<ExprRef> ParseConstant(DType dtype);
  Result<ExprRef> ParseCast(int depth);
  Result<ExprRef> ParseWiden(bool is_mask, int depth);
  Result<ExprRef> ParseLaneIndex();
  Result<ExprRef> ParseReduce(const std::string& name, int depth);
  Result<ExprRef> ParseShuffle(int depth);
  Result<ExprRef> ParseApply(const std::string& name, int depth);

  ParseScope& scope_;
  Lexer& lexer_;
};

}  // namespace mlc::ir
