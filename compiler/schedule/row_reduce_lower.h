// Kernel IR of a row reduction. Thread-safe.
#pragma once

#include "compiler/schedule/family.h"
#include "compiler/schedule/row_reduce_problem.h"

namespace mlc::schedule {

enum class KeepRow : uint8_t { kReread = 0, kScratch = 1, kRegisters = 2 };

struct RowKnobs {
  int chains = 1;
  KeepRow keep = KeepRow::kReread;
  int64_t row_block = 1;  // rows of a chunk
  bool streaming = false;
  bool prefetch = false;  // the next row is fetched while this one is computed
};

LoweredKernel LowerRows(const graph::Workload& workload, const target::Target& target,
                        const RowProblem& problem, const RowKnobs& knobs);

}  // namespace mlc::schedule
