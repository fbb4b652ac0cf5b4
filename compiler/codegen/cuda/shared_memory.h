// The placement of buffers in the memory of a launch: shared memory per phase, global scratch and
// counters per kernel. Thread-safe (no state).
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/ir/ir.h"

namespace mlc::codegen {

struct MemoryLayout {
  std::vector<int64_t> offset;  // bytes, per buffer; -1: not placed
  int64_t bytes = 0;
};

struct BufferUse {
  bool touched = false;
  bool loaded = false;   // by an expression
  bool is_tile = false;  // of a warpgroup_mma
};
// The use of each buffer in the phase.
std::vector<BufferUse> UsesOf(const ir::Kernel& kernel, const ir::Stmt& phase);

constexpr int64_t kTileAlignment = 1024;

// Places the shared memory of one phase: the buffers that it uses, aligned to 128 bytes, or to
// kTileAlignment if warpgroup_mma reads them. An overlay has the place of the buffer that it
// overlays.
MemoryLayout PlaceSharedMemory(const ir::Kernel& kernel, const std::vector<BufferUse>& uses);
// All buffers of the scope (kWorkspace or kCounter), aligned to 128 bytes.
MemoryLayout PlaceGlobal(const ir::Kernel& kernel, ir::Scope scope);

}  // namespace mlc::codegen
