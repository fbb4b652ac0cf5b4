#include "compiler/ir/interpret/gpu_state.h"

#include <algorithm>

namespace mlc::ir {

bool GpuState::ReadPrivate(GpuPrivate& from, int64_t index, int thread, Lane* values) {
  if (!from.Inside(index)) {
    FailAccess(GpuFault::kBounds, "reads", from.buffer(), index, thread);
  } else if (!from.IsWritten(index, thread, clock.block())) {
    FailAccess(GpuFault::kUninitialised, "reads", from.buffer(), index, thread);
  } else {
    std::copy_n(from.At(index, thread), from.buffer().lanes, values);
  }
  return !failed;
}

bool GpuState::WritePrivate(GpuPrivate& to, int64_t index, int thread, const Lane* values) {
  if (!to.Inside(index)) {
    FailAccess(GpuFault::kBounds, "writes", to.buffer(), index, thread);
    return false;
  }
  std::copy_n(values, to.buffer().lanes, to.At(index, thread));
  to.MarkWritten(index, thread, clock.block());
  return true;
}

void GpuState::Fail(StatusCode code, const std::string& what, int thread) {
  if (failed) return;
  failed = true;
  std::string text = "kernel '" + kernel.name + "' " + what;
  if (thread >= 0) text += ", in thread " + std::to_string(thread);
  if (block_number >= 0) {
    text += thread >= 0 ? " of block " : ", in block ";
    text += std::to_string(block_number) + " of launch " + std::to_string(launch);
  }
  error = Status(code, std::move(text));
}

void GpuState::FailAccess(GpuFault fault, const char* verb, const Buffer& buffer, int64_t index,
                          int thread) {
  const std::string access =
      std::string(verb) + " '" + buffer.name + "[" + std::to_string(index) + "]'";
  switch (fault) {
    case GpuFault::kNone:
      return;
    case GpuFault::kBounds:
      return Fail(StatusCode::kOutOfRange,
                  access + " outside its " + std::to_string(buffer.size) + " elements", thread);
    case GpuFault::kUninitialised:
      return Fail(StatusCode::kFailedPrecondition, access + ", which was never written", thread);
    case GpuFault::kLost:
      return Fail(StatusCode::kFailedPrecondition,
                  access + ", whose memory another buffer has taken over", thread);
    case GpuFault::kPending:
      return Fail(StatusCode::kFailedPrecondition, access + " while a copy is under way there",
                  thread);
    case GpuFault::kThreadRace:
      return Fail(StatusCode::kAborted, access + " in a race with another thread", thread);
    case GpuFault::kBlockRace:
      return Fail(StatusCode::kAborted, access + " in a race with another block", thread);
    case GpuFault::kEarly:
      return Fail(StatusCode::kFailedPrecondition, access + " before await_inputs", thread);
  }
}

bool GpuState::AllOfBlock(const char* what) {
  if (Count() == static_cast<size_t>(threads)) return true;
  Fail(StatusCode::kFailedPrecondition,
       "reaches " + std::string(what) + " with " + std::to_string(Count()) + " of the " +
           std::to_string(threads) + " threads of the block",
       active[0]);
  return false;
}

bool GpuState::AllOfWarps(const char* what) {
  size_t first = 0;
  while (first < Count()) {
    const int warp = active[first] / kWarpThreads;
    size_t past = first;
    while (past < Count() && active[past] / kWarpThreads == warp) ++past;
    if (past - first != kWarpThreads) {
      Fail(StatusCode::kFailedPrecondition,
           "reaches " + std::string(what) + " with " + std::to_string(past - first) +
               " of the 32 threads of warp " + std::to_string(warp),
           active[first]);
      return false;
    }
    first = past;
  }
  return true;
}

bool GpuState::AllOfWarpgroups(const char* what) {
  for (size_t first = 0; first < Count(); first += kWarpgroupThreads) {
    const bool whole =
        active[first] % kWarpgroupThreads == 0 && first + kWarpgroupThreads <= Count() &&
        active[first + kWarpgroupThreads - 1] == active[first] + kWarpgroupThreads - 1;
    if (whole) continue;
    Fail(StatusCode::kFailedPrecondition,
         "reaches " + std::string(what) + " with less than a warpgroup of 128 threads",
         active[first]);
    return false;
  }
  return true;
}

}  // namespace mlc::ir
