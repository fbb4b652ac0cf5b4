#include "compiler/ir/interpret/gpu_cluster.h"

#include <numeric>
#include <string>
#include <utility>

namespace mlc::ir {

void GpuCluster::MakeBlock(std::span<const std::span<std::byte>> params) {
  const Kernel& kernel = state_.kernel;
  GpuBlock& block = state_.block;
  block.vars.resize(kernel.vars.size() * state_.max_threads);
  block.copies.resize(state_.max_threads);
  block.products.resize(state_.max_threads / kWarpgroupThreads + 1);
  block.memories.resize(kernel.buffers.size());
  block.privates.resize(kernel.buffers.size());
  for (size_t i = 0; i < kernel.buffers.size(); ++i) {
    const Buffer& buffer = kernel.buffers[i];
    if (buffer.scope == Scope::kCounter || buffer.scope == Scope::kMbarrier) continue;
    if (buffer.scope == Scope::kRegister || buffer.scope == Scope::kThread) {
      block.privates[i] =
          std::make_unique<GpuPrivate>(buffer, static_cast<int>(state_.max_threads));
      continue;
    }
    block.memories[i] =
        MakeMemory(i, i < params.size() ? params[i] : std::span<std::byte>(), block.memories);
  }
}

std::unique_ptr<GpuMemory> GpuCluster::MakeMemory(
    size_t buffer, std::span<std::byte> param, std::span<const std::unique_ptr<GpuMemory>> others) {
  const Buffer& made = state_.kernel.buffers[buffer];
  GpuMemory* base = made.overlays >= 0 ? others[static_cast<size_t>(made.overlays)].get() : nullptr;
  return std::make_unique<GpuMemory>(made, param, &state_.clock, base);
}

void GpuCluster::MakeOthers(int blocks) {
  const GpuBlock& running = state_.block;
  waiting_.resize(static_cast<size_t>(blocks));
  for (WaitingBlock& waiting : waiting_) {
    GpuBlock& block = waiting.block;
    block.memories.resize(running.memories.size());
    block.privates.resize(running.privates.size());
    for (size_t i = 0; i < running.memories.size(); ++i) {
      const Buffer& buffer = state_.kernel.buffers[i];
      if (buffer.scope == Scope::kSharedMemory) {
        block.memories[i] = MakeMemory(i, {}, block.memories);
      }
      if (running.privates[i] == nullptr) continue;
      block.privates[i] =
          std::make_unique<GpuPrivate>(buffer, static_cast<int>(state_.max_threads));
    }
    block.copies.resize(running.copies.size());
    block.products.resize(running.products.size());
    block.vars.resize(running.vars.size());
  }
}

void GpuCluster::Swap() {
  if (state_.cluster_size == 1) return;
  GpuBlock& running = state_.block;
  GpuBlock& block = waiting_[static_cast<size_t>(state_.rank)].block;
  for (size_t i = 0; i < running.memories.size(); ++i) {
    if (block.memories[i] != nullptr) running.memories[i].swap(block.memories[i]);
  }
  running.privates.swap(block.privates);
  running.copies.swap(block.copies);
  running.products.swap(block.products);
  running.unfenced.swap(block.unfenced);
  running.vars.swap(block.vars);
}

void GpuCluster::Enter(int rank, int64_t block) {
  state_.rank = rank;
  state_.block_number = block;
  state_.async.Enter(rank);
  Swap();
}

void GpuCluster::RunBlocks(int64_t first, const std::function<void()>& block) {
  const auto one = [&](size_t rank) {
    if (state_.failed) return;
    Enter(static_cast<int>(rank), first + static_cast<int64_t>(rank));
    state_.active.resize(static_cast<size_t>(state_.threads));
    std::iota(state_.active.begin(), state_.active.end(), 0);
    block();
    Swap();
  };
  if (state_.cluster_size == 1) return one(0);
  RoleTurns turns;
  turns_ = &turns;
  turns.Run(static_cast<size_t>(state_.cluster_size), one);
  turns_ = nullptr;
}

bool GpuCluster::PassTurn() {
  if (turns_ == nullptr) return false;
  const int rank = state_.rank;
  const int64_t number = state_.block_number;
  const GpuClock clock = state_.clock;
  Swap();
  const bool passed = turns_->Pass(state_.async.changes());
  Enter(rank, number);
  state_.clock.Return(clock);
  return passed;
}

GpuMemory& GpuCluster::MemoryOf(BufferId id, int64_t rank) {
  if (rank == state_.rank) return state_.MemoryOf(id);
  return *waiting_[static_cast<size_t>(rank)].block.memories[static_cast<size_t>(id)];
}

void GpuCluster::Leave() {
  waiting_[static_cast<size_t>(state_.rank)].place = state_.clock.Leave();
}

void GpuCluster::Resume(const std::vector<GpuClock::Span>& seen) {
  state_.clock.Resume(waiting_[static_cast<size_t>(state_.rank)].place, seen);
}

void GpuCluster::Do(const LoadPeer& load) {
  LaneStack::Frame frame(state_.stack);
  Lane* to = frame.Take(state_.Count());
  Lane* from = frame.Take(state_.Count());
  Lane* rank = frame.Take(state_.Count());
  expressions_.Eval(*load.to_index, to);
  expressions_.Eval(*load.from_index, from);
  expressions_.Eval(*load.rank, rank);
  GpuPrivate& registers = *state_.PrivateOf(load.to);
  const Buffer& buffer = state_.BufferOf(load.from);
  Lane* values = frame.Take(static_cast<size_t>(registers.buffer().lanes));
  for (size_t i = 0; i < state_.Count() && !state_.failed; ++i) {
    const int64_t peer = rank[i].i;
    if (peer < 0 || peer >= state_.cluster_size) {
      return state_.Fail(StatusCode::kOutOfRange,
                         "reads '" + buffer.name + "' of rank " + std::to_string(peer) +
                             " in a cluster of " + std::to_string(state_.cluster_size),
                         state_.active[i]);
    }
    if (peer != state_.rank && state_.last_part) {
      return state_.Fail(
          StatusCode::kFailedPrecondition,
          "reads '" + buffer.name + "' of another block after the last cluster_barrier",
          state_.active[i]);
    }
    int64_t bad = 0;
    const GpuFault fault =
        MemoryOf(load.from, peer)
            .ReadPeer(from[i].i, registers.buffer().lanes, state_.active[i], values, &bad);
    if (fault != GpuFault::kNone) {
      return state_.FailAccess(fault, "reads of a peer", buffer, bad, state_.active[i]);
    }
    state_.WritePrivate(registers, to[i].i, state_.active[i], values);
  }
}

}  // namespace mlc::ir
