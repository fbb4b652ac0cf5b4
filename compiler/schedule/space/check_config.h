// Checks whether a config can be lowered. Configs are untrusted: logs, lock files and servers
// contain texts of other users. Pure, thread-safe.
#pragma once

#include "base/status.h"
#include "compiler/graph/workload.h"
#include "compiler/schedule/space/config.h"
#include "compiler/target/target.h"

namespace mlc::schedule {

// OK if Family::Lower accepts the config. NOT_FOUND for an unknown family; FAILED_PRECONDITION for
// another version of it; INVALID_ARGUMENT if the family does not accept the workload on the target,
// or if the config is not in its space or is rejected.
Status CheckConfig(const graph::Workload& workload, const target::Target& target,
                   const Config& config);

}  // namespace mlc::schedule
