// Gradient-boosted trees over feature rows: small, quick to fit, deterministic. One thread: on a
// machine that also times kernels a second one costs more than it gives.
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
  double columns = 1;  // share of them that each tree may ask, another one for each
  double min_child_weight = 1;
  double lambda = 1;
};

// Squared error, starting from 0: far from all rows the trees say 0. INVALID_ARGUMENT if sizes
// disagree or there is no row. The same rows and options give the same trees, on any thread.
Result<Forest> FitForest(const TrainingRows& rows, const BoostingOptions& options = {});

}  // namespace mlc::costmodel
