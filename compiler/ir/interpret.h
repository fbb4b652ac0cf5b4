// Runs a kernel slowly and exactly: f32 arithmetic rounds to f32 after each operation, kFma once,
// special functions through double. Bounds and initialisation are checked: reading past a buffer,
// reading a register, thread or shared element never written, or a data race between two iterations
// of a parallel loop on a written element is an error that names buffer, index and iteration.
// Thread-safe (no shared state).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "compiler/base/status.h"
#include "compiler/ir/ir.h"

namespace mlc::ir {

// `params`: the bytes of the kIn and kOut buffers, in order; kOut are written in place.
Status Interpret(const Kernel& kernel, std::span<const std::span<std::byte>> params);

}  // namespace mlc::ir
