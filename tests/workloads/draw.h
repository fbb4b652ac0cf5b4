// Random numbers and types for the texts of random workloads. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/rng.h"

namespace mlc::schedule {

using Dims = std::vector<int64_t>;

// Both ends included.
int64_t Between(Rng& rng, int64_t low, int64_t high);
bool Chance(Rng& rng, int percent);

// "f32[2,3]"
std::string DenseType(std::string_view dtype, const Dims& dims);
// "f32[2,3]{1,2}"
std::string StridedType(std::string_view dtype, const Dims& dims, const Dims& strides);
std::string ChannelsLastType(std::string_view dtype, const Dims& dims);
// Dense, permuted or with gaps.
std::string RandomType(Rng& rng, std::string_view dtype, const Dims& dims);

// A workload's text, around lines of nodes; `outputs` as in "%3, %2".
std::string WorkloadText(const std::string& nodes, const std::string& outputs,
                         std::string_view tolerance = "1e-4");

}  // namespace mlc::schedule
