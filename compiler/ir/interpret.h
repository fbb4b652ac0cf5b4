// Runs a kernel slowly and exactly: f32 arithmetic rounds to f32 after each operation, kFma once,
// special functions through double; lanes reduce in order. Each access is checked: outside a buffer
// (OUT_OF_RANGE); of an output, shared, thread or register element never written, where thread and
// register contents end with the iteration (FAILED_PRECONDITION); a race of two iterations of one
// phase on a written element (ABORTED). Also an integer division by zero (OUT_OF_RANGE) and a
// streaming store that is not aligned (FAILED_PRECONDITION). The text names kernel, buffer, index
// and iteration. Both arms of a select are evaluated. Thread-safe (no shared state).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "compiler/base/status.h"
#include "compiler/ir/ir.h"

namespace mlc::ir {

// `params`: the bytes of the kIn and kOut buffers, in order, each at least as large as its buffer;
// kOut are written in place. INVALID_ARGUMENT when they do not fit or the kernel does not verify.
Status Interpret(const Kernel& kernel, std::span<const std::span<std::byte>> params);

}  // namespace mlc::ir
