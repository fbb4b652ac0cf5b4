// Whether this machine can hold the tensors of a model's tasks. Pure.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "server/state/job_figures.h"

namespace mlc::client {

// FAILED_PRECONDITION that names a task whose tensors are larger than `memory`, in bytes. A server
// waits for a larger worker, but the embedded server has this machine alone.
Status CheckMemory(const server::ModelInfo& model, int64_t memory);

}  // namespace mlc::client
