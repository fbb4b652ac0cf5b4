// Gradient-boosted trees over feature rows: small, quick to fit, deterministic. They use one
// thread, because a second one disturbs timings on the same machine by more than it gains.
#pragma once

#include <span>

#include "base/status.h"
#include "costmodel/forest.h"

namespace mlc::costmodel {

struct TrainingRows {
  size_t columns = 0;
  std::span<const float> features;  // row-major
  std::span<const float> labels;    // one per row
  std::span<const float> weights;   // one per row, or empty
};

struct BoostingOptions {
  int trees = 80;
  int depth = 5;
  double eta = 0.15;
  double columns = 1;  // share of the columns that each tree uses, drawn for each tree
  double min_child_weight = 1;
  double lambda = 1;
};

// Minimises the squared error, starting from 0: far from all rows the trees predict 0.
// INVALID_ARGUMENT if sizes disagree or there is no row. The same rows and options give the same
// trees on any thread.
Result<Forest> FitForest(const TrainingRows& rows, const BoostingOptions& options = {});

}  // namespace mlc::costmodel
