// Expressions of kernel specifications, in the part of Python's syntax that their formats use:
//
//   block_size_x * tile_size_x <= 1024 and (vector == 1 or tile_size_x % vector == 0)
//
// Numbers, strings, names, lists; or, and, not; comparisons, also chained, in; + - * / // % **;
// x if c else y; indices; min, max, abs, round, ceil, floor, int, float, bool, len, range, list;
// [x for i in range(4) if c]. Nothing else: no attributes, no calls of other names. Integers have
// 64 bits and do not wrap. Texts come from users and over the network: length, depth, and the size
// of lists are limited, and every evaluation ends. Immutable; thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/status.h"

namespace mlc::schedule {

// What an expression computes: a truth value is the integer 0 or 1.
struct ExpressionValue {
  using List = std::vector<ExpressionValue>;
  std::variant<int64_t, double, std::string, List> value = int64_t{0};

  ExpressionValue() = default;
  ExpressionValue(int64_t whole) : value(whole) {}
  ExpressionValue(double real) : value(real) {}
  ExpressionValue(std::string text) : value(std::move(text)) {}
  ExpressionValue(List list) : value(std::move(list)) {}
  bool IsNumber() const { return value.index() < 2; }
  // Nonzero, or not empty.
  bool IsTrue() const;
  // As an expression: 4, 0.5, 'row', [1, 2].
  std::string ToText() const;
  friend bool operator==(const ExpressionValue&, const ExpressionValue&) = default;
};

class Expression {
 public:
  static constexpr size_t kMaxLength = 4096;
  static constexpr int kMaxDepth = 64;
  static constexpr size_t kMaxList = 4096;

  // `names`: those that the expression may use. INVALID_ARGUMENT with the column of the error.
  static Result<Expression> Parse(std::string_view text, std::span<const std::string> names);

  // `values`: of the names, in their order. INVALID_ARGUMENT with the column where a division by
  // zero, a number beyond 64 bits, or a wrong type is met.
  Result<ExpressionValue> Evaluate(std::span<const ExpressionValue> values) const;
  // The same, for an integer; a float is accepted if it is whole.
  Result<int64_t> EvaluateInteger(std::span<const ExpressionValue> values) const;
  const std::string& ToText() const { return text_; }

 private:
  friend class ExpressionParser;
  struct Node;
  struct Evaluation;
  std::string text_;
  std::shared_ptr<const Node> root_;
};

}  // namespace mlc::schedule
