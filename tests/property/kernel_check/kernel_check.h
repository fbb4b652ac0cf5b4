// Holds what a family generates against the reference evaluator: configs of a workload are lowered,
// verified, interpreted for random targets, and compiled and run on this machine. Failures are
// reported through GoogleTest with the config and the workload. Not thread-safe.
#pragma once

#include <string_view>

#include "base/rng.h"
#include "tests/workloads/random_workload.h"

namespace mlc::schedule {

// `configs`: random ones besides the default one.
void CheckFamily(Rng& rng, const RandomWorkload& random, std::string_view family, int configs = 2);

}  // namespace mlc::schedule
