// The syntax tree of an expression. Private to this folder. A value.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compiler/schedule/kernel_spec/expression.h"

namespace mlc::schedule {

enum class ExpressionOp : uint8_t {
  kConstant,
  kName,   // of the caller
  kBound,  // of a comprehension
  kOr,
  kAnd,
  kNot,
  kCompare,     // children: operands; words: the operators between them
  kArithmetic,  // word: the operator
  kNegate,
  kChoose,  // condition, then, else
  kIndex,
  kCall,  // word: the function
  kList,
  kGather,  // element, list, condition (or none)
};

struct Expression::Node {
  ExpressionOp op = ExpressionOp::kConstant;
  size_t column = 0;  // from 1
  ExpressionValue constant;
  size_t slot = 0;  // of kName: its place among the names; of kBound and kGather: the depth
  std::vector<std::string> words;
  std::vector<std::shared_ptr<const Node>> children;

  static std::shared_ptr<const Node> Make(ExpressionOp op, size_t column,
                                          std::vector<std::shared_ptr<const Node>> children,
                                          std::vector<std::string> words = {}) {
    auto node = std::make_shared<Node>();
    node->op = op;
    node->column = column;
    node->children = std::move(children);
    node->words = std::move(words);
    return node;
  }
};

// INVALID_ARGUMENT "column 7 of 'text': what".
Status ExpressionError(const std::string& text, size_t column, const std::string& what);

}  // namespace mlc::schedule
