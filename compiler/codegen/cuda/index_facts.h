// What is known of an index at compile time: an interval that contains it and a number that divides
// it. The facts decide between 32-bit and 64-bit arithmetic, unsigned divisions and the width of
// memory accesses. Not thread-safe; borrows the kernel.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "compiler/ir/ir.h"

namespace mlc::codegen {

struct IndexFacts {
  int64_t low = INT64_MIN;
  int64_t high = INT64_MAX;
  int64_t multiple = 1;  // a divisor of every value; 0: the value is 0
  // True if the operation may wrap around in 64 bits.
  bool wraps = false;

  bool FitsInt() const { return low >= INT32_MIN && high <= INT32_MAX; }
  bool DividesBy(int64_t n) const { return multiple % n == 0; }
  static IndexFacts Constant(int64_t value);
  static IndexFacts Interval(int64_t low, int64_t high);
};

class IndexAnalysis {
 public:
  explicit IndexAnalysis(const ir::Kernel& kernel) : vars_(kernel.vars.size()) {}

  // Binds a variable. Call it before an expression that uses the variable.
  void Bind(ir::VarId var, const IndexFacts& facts) { vars_[static_cast<size_t>(var)] = facts; }
  void BindLoop(const ir::For& loop);
  // The facts of an integer scalar; other expressions have none.
  IndexFacts Of(const ir::Expr& e);
  IndexFacts Of(const ir::ExprRef& e) { return Of(*e); }
  const IndexFacts& OfVar(ir::VarId var) const { return vars_[static_cast<size_t>(var)]; }

 private:
  IndexFacts Compute(const ir::Expr& e);
  IndexFacts ComputeApply(const ir::Apply& apply);

  std::vector<IndexFacts> vars_;
  std::unordered_map<const ir::Expr*, IndexFacts> known_;
};

}  // namespace mlc::codegen
