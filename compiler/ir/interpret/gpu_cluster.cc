// Clusters in the GPU interpreter: the blocks of one run in turn, each up to the next cluster
// barrier. A block alone is a cluster of one.
#include <algorithm>
#include <numeric>

#include "compiler/ir/interpret/gpu_machine.h"

namespace mlc::ir {

namespace {

bool IsSync(const StmtRef& stmt, SyncKind kind) {
  const Sync* sync = std::get_if<Sync>(&stmt->node);
  return sync != nullptr && sync->kind == kind;
}

bool Awaits(const StmtRef& stmt) {
  if (stmt == nullptr) return false;
  if (const Block* block = std::get_if<Block>(&stmt->node)) {
    return std::any_of(block->body.begin(), block->body.end(), Awaits);
  }
  if (const For* loop = std::get_if<For>(&stmt->node)) return Awaits(loop->body);
  if (const If* branch = std::get_if<If>(&stmt->node)) {
    return Awaits(branch->then_body) || Awaits(branch->else_body);
  }
  return IsSync(stmt, SyncKind::kAwaitInputs);
}

}  // namespace

void GpuMachine::MakeCluster(int blocks) {
  cluster_.resize(static_cast<size_t>(blocks));
  for (WaitingBlock& block : cluster_) {
    block.memories.resize(memories_.size());
    block.privates.resize(privates_.size());
    for (size_t i = 0; i < memories_.size(); ++i) {
      const Buffer& buffer = kernel_.buffers[i];
      if (buffer.scope == Scope::kSharedMemory)
        block.memories[i] = MakeMemory(i, {}, block.memories);
      if (privates_[i] == nullptr) continue;
      block.privates[i] = std::make_unique<GpuPrivate>(buffer, static_cast<int>(max_threads_));
    }
    block.copies.resize(copies_.size());
    block.products.resize(products_.size());
    block.vars.resize(vars_.size());
  }
}

void GpuMachine::Swap() {
  if (cluster_size_ == 1) return;
  WaitingBlock& block = cluster_[static_cast<size_t>(rank_)];
  for (size_t i = 0; i < memories_.size(); ++i) {
    if (block.memories[i] != nullptr) memories_[i].swap(block.memories[i]);
  }
  privates_.swap(block.privates);
  copies_.swap(block.copies);
  products_.swap(block.products);
  unfenced_.swap(block.unfenced);
  vars_.swap(block.vars);
}

void GpuMachine::StartBlock(const For& grid, const For& loop) {
  clock_.StartBlock(Awaits(loop.body));
  for (size_t i = 0; i < memories_.size(); ++i) {
    if (kernel_.buffers[i].scope == Scope::kSharedMemory) memories_[i]->StartBlock();
  }
  std::fill_n(VarOf(grid.var), threads_, block_);
  std::iota(VarOf(loop.var), VarOf(loop.var) + threads_, 0);
}

void GpuMachine::RunCluster(const For& grid, const For& loop, int64_t first) {
  const std::vector<StmtRef>& body = std::get<Block>(loop.body->node).body;
  const auto is_end = [](const StmtRef& stmt) { return IsSync(stmt, SyncKind::kClusterBarrier); };
  std::vector<GpuClock::Span> seen, before;
  for (auto from = body.begin();;) {
    const auto past = std::find_if(from, body.end(), is_end);
    last_part_ = past == body.end();
    for (rank_ = 0; rank_ < cluster_size_; ++rank_) {
      block_ = first + rank_;
      Swap();
      if (from == body.begin()) {
        StartBlock(grid, loop);
      } else {
        clock_.Resume(cluster_[static_cast<size_t>(rank_)].place, before);
      }
      for (auto stmt = from; stmt != past && !failed_; ++stmt) Execute(**stmt);
      if (failed_) return;
      if (last_part_) {
        for (GpuCopies& copies : copies_) copies.EndBlock();
        EndProducts();
      } else {
        cluster_[static_cast<size_t>(rank_)].place = clock_.Leave();
        clock_.Publish(&seen);
      }
      if (failed_) return;
      Swap();
    }
    if (last_part_) return;
    from = past + 1;
    before = std::exchange(seen, {});
  }
}

void GpuMachine::Do(const LoadPeer& load) {
  LaneStack::Frame frame(stack_);
  Lane* to = frame.Take(Count());
  Lane* from = frame.Take(Count());
  Lane* rank = frame.Take(Count());
  Eval(*load.to_index, to);
  Eval(*load.from_index, from);
  Eval(*load.rank, rank);
  GpuPrivate& registers = *PrivateOf(load.to);
  const Buffer& buffer = kernel_.buffers[static_cast<size_t>(load.from)];
  Lane* values = frame.Take(static_cast<size_t>(registers.buffer().lanes));
  for (size_t i = 0; i < Count() && !failed_; ++i) {
    const int64_t peer = rank[i].i;
    if (peer < 0 || peer >= cluster_size_) {
      return Fail(StatusCode::kOutOfRange,
                  "reads '" + buffer.name + "' of rank " + std::to_string(peer) +
                      " in a cluster of " + std::to_string(cluster_size_),
                  active_[i]);
    }
    if (peer != rank_ && last_part_) {
      return Fail(StatusCode::kFailedPrecondition,
                  "reads '" + buffer.name + "' of another block after the last cluster_barrier",
                  active_[i]);
    }
    GpuMemory& memory =
        peer == rank_
            ? MemoryOf(load.from)
            : *cluster_[static_cast<size_t>(peer)].memories[static_cast<size_t>(load.from)];
    int64_t bad = 0;
    const GpuFault fault =
        memory.ReadPeer(from[i].i, registers.buffer().lanes, active_[i], values, &bad);
    if (fault != GpuFault::kNone) {
      return FailAccess(fault, "reads of a peer", buffer, bad, active_[i]);
    }
    WritePrivate(registers, to[i].i, active_[i], values);
  }
}

}  // namespace mlc::ir
