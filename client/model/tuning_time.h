// How long tuning takes, before anything is measured. Pure; thread-safe.
#pragma once

#include <vector>

#include "compiler/target/target.h"
#include "costmodel/roofline.h"

namespace mlc::client {

// Seconds for one trial on average, within a factor of two on a quiet machine. `cpus`: of the
// machine that builds; for GPUs, whose compiler takes most of the time.
double SecondsPerTrial(const std::vector<costmodel::RooflineInput>& tasks,
                       const target::Target& target, int cpus);

}  // namespace mlc::client
