// The state of the blocks of a cluster in an interpreted GPU kernel while they do not run. A block
// alone is a cluster of one. Not thread-safe; borrows the state and the expressions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "compiler/ir/interpret/gpu_expr.h"
#include "compiler/ir/interpret/gpu_state.h"
#include "compiler/ir/interpret/role_turns.h"

namespace mlc::ir {

class GpuCluster {
 public:
  GpuCluster(GpuState& state, GpuExpressions& expressions)
      : state_(state), expressions_(expressions) {}

  // Creates the memory and the variables of the current block. Parameters come first among the
  // buffers.
  void MakeBlock(std::span<const std::span<std::byte>> params);
  // Creates those of the other blocks of the largest cluster. REQUIRES: MakeBlock.
  void MakeOthers(int blocks);

  // Runs the blocks from `first` on up to their next cluster barrier, in turn: `block` runs the
  // state's current one.
  void RunBlocks(int64_t first, const std::function<void()>& block);
  // From `block`, which waits: another block goes on. False where there is none, or where all would
  // wait for ever.
  bool PassTurn();
  // Memory of the block of that rank.
  GpuMemory& MemoryOf(BufferId id, int64_t rank);
  void Leave();  // the current block stops at a cluster barrier
  // Continues the block. `seen`: what the blocks of the cluster published before the barrier.
  void Resume(const std::vector<GpuClock::Span>& seen);
  void Do(const LoadPeer& load);

 private:
  struct WaitingBlock {
    GpuBlock block;  // memories: null where not of a block
    GpuClock::Place place;
  };

  std::unique_ptr<GpuMemory> MakeMemory(size_t buffer, std::span<std::byte> param,
                                        std::span<const std::unique_ptr<GpuMemory>> others);

  // Swaps the current block with the stored block of the state's rank.
  void Swap();
  void Enter(int rank, int64_t block);

  GpuState& state_;
  GpuExpressions& expressions_;
  RoleTurns* turns_ = nullptr;         // of blocks, while those of a cluster run
  std::vector<WaitingBlock> waiting_;  // by rank; empty without clusters
};

}  // namespace mlc::ir
