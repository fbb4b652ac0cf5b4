#include "compiler/ir/interpret/gpu_sync.h"

#include <string>

namespace mlc::ir {

void GpuSync::Do(const Sync& sync) {
  switch (sync.kind) {
    case SyncKind::kBarrier:
      if (!state_.AllOfBlock("a barrier")) return;
      state_.clock.Barrier();
      state_.async.BlockBarrier();
      return;
    case SyncKind::kWarpBarrier:
      if (!state_.AllOfWarps("a warp_barrier")) return;
      state_.clock.Advance();
      for (size_t i = 0; i < state_.Count(); i += kWarpThreads) {
        state_.clock.WarpBarrier(state_.active[i] / kWarpThreads);
      }
      return;
    case SyncKind::kCommitCopies:
      for (const int thread : state_.active)
        state_.block.copies[static_cast<size_t>(thread)].Commit();
      return;
    case SyncKind::kWaitCopies:
      for (const int thread : state_.active) {
        const bool landed =
            state_.block.copies[static_cast<size_t>(thread)].Wait(sync.pending, thread);
        if (landed) state_.block.unfenced.insert(thread);
      }
      return;
    case SyncKind::kFenceTiles:
      for (const int thread : state_.active) state_.block.unfenced.erase(thread);
      return;
    case SyncKind::kWaitProducts:
      if (state_.AllOfWarpgroups("wait_products")) products_.Wait(sync.pending);
      return;
    case SyncKind::kAwaitInputs:
      for (const int thread : state_.active) state_.clock.AwaitInputs(thread);
      return;
    case SyncKind::kMakeTensorMaps:
      return MakeTensorMaps();
    case SyncKind::kSetRegisters:
      (void)state_.AllOfWarpgroups("set_registers");
      return;
    case SyncKind::kReleaseDependents:
    case SyncKind::kClusterBarrier:  // REQUIRES: not reached; GpuMachine ends a part there
      return;
  }
}

// The maps lie in scratch memory, which earlier launches may still use.
void GpuSync::MakeTensorMaps() {
  if (!state_.AllOfWarps("make_tensor_maps")) return;
  for (const int thread : state_.active) {
    if (state_.clock.Early(thread)) {
      return state_.Fail(StatusCode::kFailedPrecondition, "makes tensor maps before await_inputs",
                         thread);
    }
    if (state_.async.MakeMaps(thread / kWarpThreads)) continue;
    return state_.Fail(StatusCode::kFailedPrecondition,
                       "makes tensor maps where another warp has made them", thread);
  }
}

void GpuSync::Do(const CopyAsync& copy) {
  LaneStack::Frame frame(state_.stack);
  Lane* to = frame.Take(state_.Count());
  Lane* from = frame.Take(state_.Count());
  expressions_.Eval(*copy.to_index, to);
  expressions_.Eval(*copy.from_index, from);
  const Lane* mask = expressions_.EvalMask(copy.mask, frame);
  for (size_t i = 0; i < state_.Count() && !state_.failed; ++i) {
    CopyOne(copy, state_.active[i], to[i].i, from[i].i, ActiveLanes(mask, i, copy.lanes));
  }
}

void GpuSync::CopyOne(const CopyAsync& copy, int thread, int64_t to, int64_t from, int active) {
  GpuMemory& source = state_.MemoryOf(copy.from);
  GpuMemory& target = state_.MemoryOf(copy.to);
  const auto misaligned = [&](const GpuMemory& memory, int64_t index) {
    if (index % copy.lanes == 0) return false;
    state_.Fail(StatusCode::kFailedPrecondition,
                "copies " + std::to_string(copy.lanes) + " elements at '" + memory.buffer().name +
                    "[" + std::to_string(index) + "]', which is not aligned to them",
                thread);
    return true;
  };
  if (misaligned(target, to) || (active > 0 && misaligned(source, from))) return;
  GpuCopies::Copy issued{&target, to, copy.lanes, {}, 0};
  int64_t bad = 0;
  GpuFault fault = source.Read(from, 1, active, thread, issued.values.data(), &bad);
  if (fault != GpuFault::kNone)
    return state_.FailAccess(fault, "copies", source.buffer(), bad, thread);
  fault = target.Reserve(to, copy.lanes, thread, &bad);
  if (fault != GpuFault::kNone)
    return state_.FailAccess(fault, "copies to", target.buffer(), bad, thread);
  state_.block.copies[static_cast<size_t>(thread)].Add(issued);
}

void GpuSync::Do(const Arrive& arrive) {
  LaneStack::Frame frame(state_.stack);
  Lane* index = frame.Take(state_.Count());
  expressions_.Eval(*arrive.index, index);
  if (state_.failed || !state_.AllOfBlock("an arrival")) return;
  const Buffer& counter = state_.BufferOf(arrive.counter);
  const int64_t at = index[0].i;
  for (size_t i = 0; i < state_.Count(); ++i) {
    if (index[i].i == at) continue;
    return state_.Fail(StatusCode::kFailedPrecondition,
                       "arrives at '" + counter.name + "[" + std::to_string(at) + "]' and '[" +
                           std::to_string(index[i].i) + "]' with one block",
                       state_.active[i]);
  }
  if (at < 0 || at >= counter.size) {
    return state_.FailAccess(GpuFault::kBounds, "arrives at", counter, at, state_.active[0]);
  }
  for (const int thread : state_.active) {
    if (state_.clock.Early(thread)) {
      return state_.FailAccess(GpuFault::kEarly, "arrives at", counter, at, thread);
    }
  }
  const auto round = rounds_.try_emplace({arrive.counter, at}).first;
  state_.clock.Publish(&round->second.seen);
  const bool last = ++round->second.arrived == arrive.of;
  if (last) {
    state_.clock.Acquire(round->second.seen);
    rounds_.erase(round);
  }
  state_.clock.Advance();
  int64_t* var = state_.VarOf(arrive.var);
  for (const int thread : state_.active) var[thread] = last ? 1 : 0;
}

void GpuSync::CheckCounters() {
  for (const auto& [counter, round] : rounds_) {
    const std::string& name = state_.BufferOf(counter.first).name;
    return state_.Fail(StatusCode::kFailedPrecondition,
                       "leaves counter '" + name + "[" + std::to_string(counter.second) + "]' at " +
                           std::to_string(round.arrived) + " after launch " +
                           std::to_string(state_.launch),
                       -1);
  }
}

}  // namespace mlc::ir
