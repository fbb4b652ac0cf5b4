// The state of the interpreter that its parts share: the current block with its memory, variables
// and active threads, and the first fault. Not thread-safe; borrows the kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/ir/interpret/gpu_async.h"
#include "compiler/ir/interpret/gpu_clock.h"
#include "compiler/ir/interpret/gpu_copies.h"
#include "compiler/ir/interpret/gpu_memory.h"
#include "compiler/ir/interpret/gpu_private.h"
#include "compiler/ir/interpret/lane_array.h"
#include "compiler/ir/ir.h"

namespace mlc::ir {

// A pending product of a warpgroup, with its indices into the buffers of the statement.
struct GpuProduct {
  const WarpgroupMma* mma;
  int64_t c, a, b;
};

// The state that each block of a cluster has.
struct GpuBlock {
  std::vector<std::unique_ptr<GpuMemory>> memories;   // by buffer, null where private
  std::vector<std::unique_ptr<GpuPrivate>> privates;  // by buffer, null where not
  std::vector<GpuCopies> copies;                      // by thread
  std::vector<std::deque<GpuProduct>> products;       // by warpgroup, in order
  std::set<int> unfenced;     // threads that wrote shared memory since their fence_tiles
  std::vector<int64_t> vars;  // by variable, then thread
};

struct GpuState {
  GpuState(const Kernel& kernel, size_t max_threads) : kernel(kernel), max_threads(max_threads) {}

  size_t Count() const { return active.size(); }
  const Buffer& BufferOf(BufferId id) const { return kernel.buffers[static_cast<size_t>(id)]; }
  GpuPrivate* PrivateOf(BufferId id) { return block.privates[static_cast<size_t>(id)].get(); }
  GpuMemory& MemoryOf(BufferId id) { return *block.memories[static_cast<size_t>(id)]; }
  int64_t* VarOf(VarId id) { return block.vars.data() + static_cast<size_t>(id) * max_threads; }

  // One thread's access to its own memory; false after a fault.
  bool ReadPrivate(GpuPrivate& from, int64_t index, int thread, Lane* values);
  bool WritePrivate(GpuPrivate& to, int64_t index, int thread, const Lane* values);
  // True if whole warps, whole warpgroups or the whole block are active; otherwise records a
  // failure.
  bool AllOfWarps(const char* what);
  bool AllOfWarpgroups(const char* what);
  bool AllOfBlock(const char* what);

  // Records a failure; only the first one counts. `thread` -1: of the block as a whole.
  void Fail(StatusCode code, const std::string& what, int thread);
  void FailAccess(GpuFault fault, const char* verb, const Buffer& buffer, int64_t index,
                  int thread);

  const Kernel& kernel;
  const size_t max_threads;  // of all launches
  GpuClock clock;
  int threads = 0;  // of the current launch
  GpuBlock block;
  GpuAsync async;           // of the cluster
  std::vector<int> active;  // threads, in order
  LaneStack stack;
  int rank = 0;            // of the block in its cluster
  int cluster_size = 1;    // of the current launch
  bool last_part = false;  // no cluster barrier follows
  int64_t launch = -1;
  int64_t block_number = -1;
  bool failed = false;
  Status error;
};

}  // namespace mlc::ir
