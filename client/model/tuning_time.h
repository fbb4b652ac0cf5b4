// Estimates how long tuning takes, before any measurement. Pure; thread-safe.
#pragma once

#include <vector>

#include "compiler/target/target.h"
#include "costmodel/roofline.h"

namespace mlc::client {

// Average seconds per trial, within a factor of two on a quiet machine. `cpus`: CPUs of the machine
// that builds; used for GPUs, where compiling takes most of the time.
double SecondsPerTrial(const std::vector<costmodel::RooflineInput>& tasks,
                       const target::Target& target, int cpus);

}  // namespace mlc::client
