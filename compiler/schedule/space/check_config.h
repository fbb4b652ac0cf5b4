// Whether a config can be lowered. Configs are untrusted: logs, lock files and servers hold texts
// of other users. Pure, thread-safe.
#pragma once

#include "base/status.h"
#include "compiler/graph/workload.h"
#include "compiler/schedule/space/config.h"
#include "compiler/target/target.h"

namespace mlc::schedule {

// OK if Family::Lower takes it. NOT_FOUND for an unknown family, FAILED_PRECONDITION for another
// version of it, INVALID_ARGUMENT for one that does not take the workload on the target, and for a
// config that is not in its space or is rejected.
Status CheckConfig(const graph::Workload& workload, const target::Target& target,
                   const Config& config);

}  // namespace mlc::schedule
