// The config for a workload of which nothing was measured: what a build without a log uses, what a
// search tries first, and over which its gain is reported. Deterministic, the same for all targets
// of a class; thread-safe.
#pragma once

#include <vector>

#include "base/status.h"
#include "compiler/graph/workload.h"
#include "compiler/schedule/space/config.h"
#include "compiler/target/target.h"

namespace mlc::costmodel {

// The target without its calibrated figures: what prior configs are chosen for, alike on all
// targets of a class.
target::Target ClassOf(target::Target target);

// The default of every family that accepts the workload, the workload's own first, the others in
// the order of the families; empty if there are none.
std::vector<schedule::Config> DefaultConfigs(const graph::Workload& workload,
                                             const target::Target& target);

// The first of them: that of the preferred family, unless the analytic model predicts another one
// faster; for CPUs, clearly faster. UNIMPLEMENTED if no family accepts the workload.
Result<schedule::Config> DefaultConfig(const graph::Workload& workload,
                                       const target::Target& target);

}  // namespace mlc::costmodel
