// The config for a workload of which nothing was measured: what a build without a log uses.
// Deterministic; some milliseconds; thread-safe.
#pragma once

#include "compiler/base/status.h"
#include "compiler/graph/workload.h"
#include "compiler/schedule/config.h"
#include "compiler/target/target.h"

namespace mlc::costmodel {

// The analytic model's favourite of every family's default and a sample of their spaces; the
// default of the preferred family unless another is clearly better. UNIMPLEMENTED if no family
// accepts the workload.
Result<schedule::Config> BestGuess(const graph::Workload& workload, const target::Target& target);

}  // namespace mlc::costmodel
