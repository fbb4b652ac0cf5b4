// How large the buffers of a trial are, and which there are. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "worker/device/cpu/runner.h"

namespace mlc::worker {

int64_t OutputBytes(const graph::Workload& workload, size_t i);
int64_t OperandBytes(const graph::Workload& workload, size_t i);
// Operands that other kernels of a network would have made. None where tensors are not spread:
// one thread finds them in its own cache.
std::vector<size_t> MadeByOthers(const RunTask& task, int threads);
// Copies of the prepared weights beside the original.
int64_t CopiesOf(const RunTask& task);
// In the order in which a runner takes them; shared and thread scratch come last.
std::vector<int64_t> SizesOf(const RunTask& task, int threads);

}  // namespace mlc::worker
