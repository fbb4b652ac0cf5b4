// Kernel IR of a row reduction. Thread-safe.
#pragma once

#include "compiler/schedule/problem/row_reduce_problem.h"
#include "compiler/schedule/space/family.h"

namespace mlc::schedule {

// Where a row is kept between passes: nowhere (x is computed again), in thread scratch, or in
// registers. kPipelined is a software pipeline (row_walk.h) of softmax, which stores a row from
// scratch while it computes the next one.
enum class RowStorage : uint8_t { kNone = 0, kScratch = 1, kRegisters = 2, kPipelined = 3 };

// The passes over a row that prefetch later rows, so that memory accesses overlap with the
// arithmetic of this row.
enum class PrefetchRows : uint8_t { kNever = 0, kSecondPass = 1, kLastPass = 2, kBothPasses = 3 };

struct RowKnobs {
  int chains = 1;
  RowStorage storage = RowStorage::kNone;
  int64_t row_block = 1;  // rows of a chunk
  bool streaming = false;
  PrefetchRows prefetch = PrefetchRows::kNever;
  int64_t parts = 1;  // of a row, each a partial result; above 1 for norms and one-pass reductions
};

// The units that parts of a row consist of: steps of `chains` vectors, or points of `reduced`.
bool CutsColumns(const RowProblem& problem, int64_t chains);
int64_t CutUnits(const RowProblem& problem, int64_t chains);

LoweredKernel LowerRows(const graph::Workload& workload, const target::Target& target,
                        const RowProblem& problem, const RowKnobs& knobs);

}  // namespace mlc::schedule
