// The config for a workload without any measurement. A build without a log uses it, a search tries
// it first and reports its gain over it. Deterministic, the same for all targets of a class;
// thread-safe.
#pragma once

#include <vector>

#include "base/status.h"
#include "compiler/graph/workload.h"
#include "compiler/schedule/space/config.h"
#include "compiler/target/target.h"

namespace mlc::costmodel {

// The default of every family that accepts the workload: the chosen one first, the others in the
// order of the families. Empty if no family accepts it.
std::vector<schedule::Config> DefaultConfigs(const graph::Workload& workload,
                                             const target::Target& target);

// The first of them: the default of the preferred family, unless the analytic model predicts that
// another one is faster (for CPUs: clearly faster). UNIMPLEMENTED if no family accepts the
// workload.
Result<schedule::Config> DefaultConfig(const graph::Workload& workload,
                                       const target::Target& target);

}  // namespace mlc::costmodel
