// The mapping of a row reduction to the threads of a GPU. A group of threads reduces one item: a
// row if the innermost dimension is reduced, or a vector of neighbouring columns if it is kept. The
// threads of a group walk the item's vectors side by side. Thread-safe.
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

// The problem with the widest vectors that divide every row or column.
std::optional<RowProblem> FindGpuRows(const graph::Workload& workload);
// True for reductions that read x once.
bool IsSinglePass(const graph::Workload& workload, const RowProblem& problem);

RowPlan PlanRows(RowProblem problem, int lanes, int group, int threads, bool keep, int64_t splits);

LoweredKernel LowerGpuRows(const graph::Workload& workload, const RowPlan& plan);

}  // namespace mlc::schedule::gpu
