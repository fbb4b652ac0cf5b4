// The buffers of a trial and their sizes in bytes. Pure; thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "worker/device/cpu/runner.h"

namespace mlc::worker {

int64_t OutputBytes(const graph::Workload& workload, size_t i);
int64_t OperandBytes(const graph::Workload& workload, size_t i);
// The operands that another kernel of the network would write. Empty if tensors are not spread: a
// single thread finds them in its own cache.
std::vector<size_t> MadeByOthers(const RunTask& task, int threads);
// The number of copies of the prepared weights besides the original.
int64_t CopiesOf(const RunTask& task);
// The sizes in the order in which a runner takes the buffers; shared and thread scratch are last.
std::vector<int64_t> SizesOf(const RunTask& task, int threads);

}  // namespace mlc::worker
