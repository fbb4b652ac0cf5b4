// Holds what a family generates against the reference evaluator: configs of a workload are lowered,
// verified, interpreted for random targets, and compiled and run on this machine. Failures are
// reported through GoogleTest with the config and the workload. Not thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "compiler/base/rng.h"
#include "compiler/schedule/family.h"

namespace mlc::schedule {

struct CheckOptions {
  double tolerance = 1e-5;  // of f32 outputs, relative to the largest reference value
  int64_t index_range = 3;  // integer operands lie in [-index_range, index_range)
  int configs = 2;          // random configs besides the default one
  double mask_share = 0;    // of float operands' elements that are -infinity
  int masked_operand = -1;  // the operand that mask_share is about
};

// `text` is a workload.
void CheckFamily(Rng& rng, std::string_view text, std::string_view family,
                 const CheckOptions& options = {});

// Helpers to write workload texts.
int64_t Between(Rng& rng, int64_t low, int64_t high);
bool Chance(Rng& rng, int percent);
// "f32[2,3]" with strides: dense, channels-last, permuted or with gaps.
std::string RandomType(Rng& rng, std::string_view dtype, const std::vector<int64_t>& dims);
std::string DenseType(std::string_view dtype, const std::vector<int64_t>& dims);

}  // namespace mlc::schedule
