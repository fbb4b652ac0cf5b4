// Which iterations of a kernel's parallel loops write the first rows of its results. A row is what
// lies behind one index of the outermost axis, so the first rows are the first elements. Found from
// the least index that each iteration stores to; a bound of it is enough, since an iteration that
// runs in vain does no harm. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compiler/ir/ir.h"

namespace mlc::ir {

// The parallel loop of a phase.
struct LoopRows {
  // By the first `first.size()` iterations, ascending: the first row that each one stores to. Each
  // further group of as many iterations is like the first one. Empty: all iterations are to run.
  std::vector<int64_t> first;

  bool bounds() const { return !first.empty(); }
  // How many iterations of each group are needed for the rows below `rows`.
  int64_t RunsFor(int64_t rows) const;
};

// One a phase. `row_elements`: by parameter, how far the rows of an output lie apart; 0: its rows
// cannot be told. A phase that writes scratch of the whole kernel has no bound, nor has a kernel
// whose phases read results of each other, or one for GPUs.
std::vector<LoopRows> StoredRows(const Kernel& kernel, std::span<const int64_t> row_elements);

}  // namespace mlc::ir
