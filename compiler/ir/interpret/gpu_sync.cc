// Barriers, copies in the background and arrivals in the GPU interpreter.
#include "compiler/ir/interpret/gpu_machine.h"

namespace mlc::ir {

bool GpuMachine::AllOfBlock(const char* what) {
  if (Count() == static_cast<size_t>(threads_)) return true;
  Fail(StatusCode::kFailedPrecondition,
       "reaches " + std::string(what) + " with " + std::to_string(Count()) + " of the " +
           std::to_string(threads_) + " threads of the block",
       active_[0]);
  return false;
}

bool GpuMachine::AllOfWarps(const char* what) {
  size_t first = 0;
  while (first < Count()) {
    const int warp = active_[first] / kWarpThreads;
    size_t past = first;
    while (past < Count() && active_[past] / kWarpThreads == warp) ++past;
    if (past - first != kWarpThreads) {
      Fail(StatusCode::kFailedPrecondition,
           "reaches " + std::string(what) + " with " + std::to_string(past - first) +
               " of the 32 threads of warp " + std::to_string(warp),
           active_[first]);
      return false;
    }
    first = past;
  }
  return true;
}

void GpuMachine::Do(const Sync& sync) {
  switch (sync.kind) {
    case SyncKind::kBarrier:
      if (AllOfBlock("a barrier")) clock_.Barrier();
      return;
    case SyncKind::kWarpBarrier:
      if (!AllOfWarps("a warp_barrier")) return;
      clock_.Advance();
      for (size_t i = 0; i < Count(); i += kWarpThreads) {
        clock_.WarpBarrier(active_[i] / kWarpThreads);
      }
      return;
    case SyncKind::kCommitCopies:
      for (const int thread : active_) copies_[static_cast<size_t>(thread)].Commit();
      return;
    case SyncKind::kWaitCopies:
      for (const int thread : active_) {
        const bool landed = copies_[static_cast<size_t>(thread)].Wait(sync.pending, thread);
        if (landed) unfenced_.insert(thread);
      }
      return;
    case SyncKind::kFenceTiles:
      for (const int thread : active_) unfenced_.erase(thread);
      return;
    case SyncKind::kWaitProducts:
      if (AllOfWarpgroups("wait_products")) LandProducts(sync.pending);
      return;
    case SyncKind::kAwaitInputs:
      for (const int thread : active_) clock_.AwaitInputs(thread);
      return;
    case SyncKind::kReleaseDependents:
    case SyncKind::kClusterBarrier:  // REQUIRES: not reached; RunCluster ends a part there
      return;
  }
}

void GpuMachine::Do(const CopyAsync& copy) {
  LaneStack::Frame frame(stack_);
  Lane* to = frame.Take(Count());
  Lane* from = frame.Take(Count());
  Eval(*copy.to_index, to);
  Eval(*copy.from_index, from);
  const Lane* mask = EvalMask(copy.mask, frame);
  for (size_t i = 0; i < Count() && !failed_; ++i) {
    CopyOne(copy, active_[i], to[i].i, from[i].i, ActiveLanes(mask, i, copy.lanes));
  }
}

void GpuMachine::CopyOne(const CopyAsync& copy, int thread, int64_t to, int64_t from, int active) {
  GpuMemory& source = MemoryOf(copy.from);
  GpuMemory& target = MemoryOf(copy.to);
  const auto misaligned = [&](const GpuMemory& memory, int64_t index) {
    if (index % copy.lanes == 0) return false;
    Fail(StatusCode::kFailedPrecondition,
         "copies " + std::to_string(copy.lanes) + " elements at '" + memory.buffer().name + "[" +
             std::to_string(index) + "]', which is not aligned to them",
         thread);
    return true;
  };
  if (misaligned(target, to) || (active > 0 && misaligned(source, from))) return;
  GpuCopies::Copy issued{&target, to, copy.lanes, {}, 0};
  int64_t bad = 0;
  GpuFault fault = source.Read(from, 1, active, thread, issued.values.data(), &bad);
  if (fault != GpuFault::kNone) return FailAccess(fault, "copies", source.buffer(), bad, thread);
  fault = target.Reserve(to, copy.lanes, thread, &bad);
  if (fault != GpuFault::kNone) return FailAccess(fault, "copies to", target.buffer(), bad, thread);
  copies_[static_cast<size_t>(thread)].Add(issued);
}

void GpuMachine::Do(const Arrive& arrive) {
  LaneStack::Frame frame(stack_);
  Lane* index = frame.Take(Count());
  Eval(*arrive.index, index);
  if (failed_ || !AllOfBlock("an arrival")) return;
  const Buffer& counter = kernel_.buffers[static_cast<size_t>(arrive.counter)];
  const int64_t at = index[0].i;
  for (size_t i = 0; i < Count(); ++i) {
    if (index[i].i == at) continue;
    return Fail(StatusCode::kFailedPrecondition,
                "arrives at '" + counter.name + "[" + std::to_string(at) + "]' and '[" +
                    std::to_string(index[i].i) + "]' with one block",
                active_[i]);
  }
  if (at < 0 || at >= counter.size) {
    return FailAccess(GpuFault::kBounds, "arrives at", counter, at, active_[0]);
  }
  for (const int thread : active_) {
    if (clock_.Early(thread)) {
      return FailAccess(GpuFault::kEarly, "arrives at", counter, at, thread);
    }
  }
  const auto round = rounds_.try_emplace({arrive.counter, at}).first;
  clock_.Publish(&round->second.seen);
  const bool last = ++round->second.arrived == arrive.of;
  if (last) {
    clock_.Acquire(round->second.seen);
    rounds_.erase(round);
  }
  clock_.Advance();
  int64_t* var = VarOf(arrive.var);
  for (const int thread : active_) var[thread] = last ? 1 : 0;
}

}  // namespace mlc::ir
