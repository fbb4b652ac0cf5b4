// The decisions of a config of the contraction family. A value; the functions are pure.
#pragma once

#include <cstdint>

#include "compiler/schedule/problem/contraction_problem.h"
#include "compiler/schedule/space/config.h"
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
  bool pack = true;             // columns packed into panels
  int64_t k_chunk = 0;          // k steps of a pass over the output; 0: all in one
  bool stage = false;           // rows are copied to scratch first, a pass at a time
  bool prefetch_panel = false;  // the next panel is prefetched while this one is multiplied
  bool decode = false;          // packed columns become numbers a panel at a time
  // The epilogue prefetches tensors larger than this; smaller ones stay in the second-level caches.
  int64_t fetched_beyond_bytes = 0;

  int64_t panels = 1;     // column panels of `vectors` vectors
  int64_t row_units = 1;  // what row_chunks divides: tiles of the outer axis, else of the inner one

  int64_t passes(const ContractionProblem& p) const { return k_chunk > 0 ? p.K() / k_chunk : 1; }
  int64_t pass_depth(const ContractionProblem& p) const { return k_chunk > 0 ? k_chunk : p.depth; }
  int64_t panel_width() const { return int64_t{vectors} * lanes; }
  // Elements of a staged row. Not a power of two, because such rows would share few cache sets.
  int64_t pitch(const ContractionProblem& p) const {
    return (pass_depth(p) + lanes - 1) / lanes * lanes + lanes;
  }
  int64_t parallel_chunks(const ContractionProblem& p) const {
    return p.Batches() * p.outer[0].out * row_chunks * column_chunks;
  }
};

// Scratch of a thread: staged rows, partial sums of a chunk, a decoded panel.
int64_t StagedElements(const ContractionProblem& problem, const ContractionPlan& plan);
int64_t PartialElements(const ContractionProblem& problem, const ContractionPlan& plan);
int64_t DecodedElements(const ContractionProblem& problem, const ContractionPlan& plan);

ContractionPlan MakePlan(const ContractionProblem& problem, const target::Target& target,
                         const Config& config);

// True if k may be cut into passes and rows may be staged: there is one tap, which always meets the
// input.
bool HasPasses(const ContractionProblem& problem);

// True if columns can be read in place: whole panels of consecutive elements.
bool ColumnsInPlace(const ContractionProblem& problem, int64_t panel_width);

}  // namespace mlc::schedule
