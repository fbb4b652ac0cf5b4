// Bounds of index expressions, from bounds of the variables in them. Not thread-safe: variables are
// set while a kernel is walked.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/ir/expr.h"

namespace mlc::ir {

// Both ends are included.
struct IndexRange {
  int64_t least = 0;
  int64_t most = 0;

  bool is_point() const { return least == most; }
};

class IndexRanges {
 public:
  explicit IndexRanges(size_t vars) : vars_(vars) {}

  void Set(VarId var, IndexRange range) { vars_[static_cast<size_t>(var)] = range; }
  // Of an i64 or bool scalar; a comparison gives 0, 1 or both. What is not understood may be
  // anything.
  IndexRange Of(const ExprRef& expr) const;

 private:
  IndexRange OfApply(const Apply& apply) const;

  std::vector<IndexRange> vars_;
};

}  // namespace mlc::ir
