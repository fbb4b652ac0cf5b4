// The placement of buffers in a scratch area: in order of declaration, each aligned to 64 bytes
// (runtime/abi.h). A pure function; thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/ir/ir.h"

namespace mlc::codegen {

// Byte offset of every buffer of `scope`, indexed by BufferId (0 for buffers of other scopes);
// `*total` is the size of the area. `scope` is kWorkspace or kThread.
std::vector<int64_t> ScratchOffsets(const ir::Kernel& kernel, ir::Scope scope, int64_t* total);

}  // namespace mlc::codegen
