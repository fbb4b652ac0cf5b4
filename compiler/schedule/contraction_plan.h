// A config of the contraction family read as decisions. A value.
#pragma once

#include <cstdint>

#include "compiler/schedule/config.h"
#include "compiler/schedule/contraction_problem.h"
#include "compiler/target/target.h"

namespace mlc::schedule {

struct ContractionPlan {
  int lanes = 16;
  int inner_rows = 1;       // of the register tile, along the row axis
  int outer_rows = 1;       // and along the axis outside it
  int vectors = 1;          // column vectors of the register tile
  bool rows_first = false;  // row tiles outside column panels
  int64_t row_chunks = 1;   // pieces of the row tiles, spread over threads
  int64_t column_chunks = 1;
  int unroll = 1;
  int prefetch = 0;
  bool pack = true;  // columns packed into panels

  int64_t panels = 1;     // column panels of `vectors` vectors
  int64_t row_units = 1;  // what row_chunks divides: tiles of the outer axis, else of the inner one

  int64_t panel_width() const { return int64_t{vectors} * lanes; }
  int64_t parallel_chunks(const ContractionProblem& p) const {
    return p.Batches() * p.outer[0].out * row_chunks * column_chunks;
  }
};

ContractionPlan MakePlan(const ContractionProblem& problem, const target::Target& target,
                         const Config& config);

// True if columns may be read where they are: whole panels of consecutive elements.
bool ColumnsInPlace(const ContractionProblem& problem, int64_t panel_width);

}  // namespace mlc::schedule
