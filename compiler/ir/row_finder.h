// The least row of its results that a part of a kernel stores to. Internal to the folder. Not
// thread-safe; borrows the kernel.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "compiler/ir/index_range.h"
#include "compiler/ir/ir.h"

namespace mlc::ir {

// Of a part that stores nothing.
inline constexpr int64_t kNoRow = std::numeric_limits<int32_t>::max();

class RowFinder {
 public:
  RowFinder(const Kernel& kernel, std::span<const int64_t> row_elements)
      : kernel_(kernel), row_elements_(row_elements), ranges_(kernel.vars.size()) {
    if (kernel.limit >= 0) Set(kernel.limit, {0, kNoLimit});
  }

  // Of a variable outside the part.
  void Set(VarId var, IndexRange range) { ranges_.Set(var, range); }
  IndexRange Of(const ExprRef& expr) const { return ranges_.Of(expr); }
  // Empty: it cannot be told, or the part writes scratch of the whole kernel.
  std::optional<int64_t> FirstRow(const StmtRef& part);

 private:
  void Walk(const StmtRef& stmt);
  void WalkLoop(const For& loop);
  void Note(const Store& store);

  const Kernel& kernel_;
  const std::span<const int64_t> row_elements_;
  IndexRanges ranges_;
  int64_t row_ = kNoRow;
  bool understood_ = true;
};

}  // namespace mlc::ir
