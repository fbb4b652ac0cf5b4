// The synchronisation statements of GPU kernels in the kernel IR (ir.h). Values.
#pragma once

#include <cstdint>

namespace mlc::ir {

enum class SyncKind : uint8_t {
  kBarrier,       // block: all threads arrive; earlier writes are visible afterwards
  kWarpBarrier,   // the same for a warp
  kCommitCopies,  // this thread's copies since the last commit become one group
  kWaitCopies,    // until at most `pending` groups of this thread are under way
  kFenceTiles,  // what this thread wrote to shared memory is seen by warpgroup_mma after a barrier
  kWaitProducts,  // until at most `pending` products of this warpgroup are under way
  kAwaitInputs,   // until all earlier launches of the stream have ended and their results are seen;
                  // before it only constant operands may be read and no parameter written
  kReleaseDependents,  // the next launch may begin, up to its kAwaitInputs
  kClusterBarrier,     // cluster: all threads of its blocks arrive
  kMakeTensorMaps,     // one warp of a block: copies tensors from here on; after await_inputs
  kSetRegisters,  // warpgroup: as many registers as the count says for each thread from here on,
                  // 24 to 240 by 8; the sum over the block's threads stays below what it began with
};
struct Sync {
  SyncKind kind = SyncKind::kBarrier;
  int pending = 0;  // kWaitCopies, kWaitProducts; of kSetRegisters: registers
};

}  // namespace mlc::ir
