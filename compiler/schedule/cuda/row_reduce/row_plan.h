// How a row reduction is dealt to the threads of a GPU. An item is what a group of threads reduces
// together: a row where the innermost dimension is reduced, and a vector of neighbouring columns
// where it is kept. The group walks the item's vectors side by side. Thread-safe.
#pragma once

#include <cstdint>
#include <optional>

#include "compiler/schedule/problem/row_reduce_problem.h"
#include "compiler/schedule/space/family.h"

namespace mlc::schedule::gpu {

struct RowPlan {
  RowProblem problem;
  int lanes = 1;
  int group = 32;      // threads of an item
  int threads = 128;   // of a block
  bool keep = false;   // x stays in registers between the passes
  int64_t splits = 1;  // blocks that share an item

  int64_t items = 1;
  int64_t vectors = 1;  // of an item
  int64_t per_split = 1;

  int items_per_block() const { return threads / group; }
  int64_t item_blocks() const { return (items + items_per_block() - 1) / items_per_block(); }
  int64_t slots() const { return (vectors + group - 1) / group; }  // of a thread
  int64_t column_vectors() const { return problem.Columns() / lanes; }
  int64_t block_bytes() const;
};

// Vectors per thread and round of a loop that is not unrolled as a whole.
inline constexpr int kRowUnroll = 4;

// The widest vectors of which every row or column holds a whole number.
std::optional<RowProblem> FindGpuRows(const graph::Workload& workload);
// True for reductions that read x once.
bool IsSinglePass(const graph::Workload& workload, const RowProblem& problem);

RowPlan PlanRows(RowProblem problem, int lanes, int group, int threads, bool keep, int64_t splits);

LoweredKernel LowerGpuRows(const graph::Workload& workload, const RowPlan& plan);

}  // namespace mlc::schedule::gpu
