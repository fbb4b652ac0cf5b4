#include "compiler/ir/interpret/gpu_machine.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace mlc::ir {

namespace {

const For& ThreadsOf(const For& grid) {
  return std::get<For>(std::get<Block>(grid.body->node).body[0]->node);
}

int64_t ExtentOf(const For& loop) { return std::get<IntImm>(loop.end->node).value; }

}  // namespace

GpuMachine::GpuMachine(const Kernel& kernel, std::span<const std::span<std::byte>> params)
    : kernel_(kernel) {
  int cluster = 1;
  for (const StmtRef& phase : kernel.phases) {
    const For& threads = ThreadsOf(std::get<For>(phase->node));
    max_threads_ = std::max(max_threads_, static_cast<size_t>(ExtentOf(threads)));
    cluster = std::max(cluster, threads.cluster);
  }
  vars_.resize(kernel.vars.size() * max_threads_);
  copies_.resize(max_threads_);
  products_.resize(max_threads_ / kWarpgroupThreads + 1);
  memories_.resize(kernel.buffers.size());
  privates_.resize(kernel.buffers.size());
  for (size_t i = 0; i < kernel.buffers.size(); ++i) {
    const Buffer& buffer = kernel.buffers[i];
    if (buffer.scope == Scope::kCounter) continue;
    if (buffer.scope == Scope::kRegister || buffer.scope == Scope::kThread) {
      privates_[i] = std::make_unique<GpuPrivate>(buffer, static_cast<int>(max_threads_));
      continue;
    }
    memories_[i] = MakeMemory(i, i < params.size() ? params[i] : std::span<std::byte>(), memories_);
  }
  if (cluster > 1) MakeCluster(cluster);
}

std::unique_ptr<GpuMemory> GpuMachine::MakeMemory(
    size_t buffer, std::span<std::byte> param, std::span<const std::unique_ptr<GpuMemory>> others) {
  const Buffer& made = kernel_.buffers[buffer];
  GpuMemory* base = made.overlays >= 0 ? others[static_cast<size_t>(made.overlays)].get() : nullptr;
  return std::make_unique<GpuMemory>(made, param, &clock_, base);
}

Status GpuMachine::Run() {
  for (const StmtRef& phase : kernel_.phases) {
    ++launch_;
    RunLaunch(std::get<For>(phase->node));
    if (failed_) return error_;
  }
  return {};
}

void GpuMachine::RunLaunch(const For& grid) {
  const For& loop = ThreadsOf(grid);
  threads_ = static_cast<int>(ExtentOf(loop));
  cluster_size_ = loop.cluster;
  clock_.StartLaunch(threads_);
  active_.resize(static_cast<size_t>(threads_));
  std::iota(active_.begin(), active_.end(), 0);
  const int64_t blocks = ExtentOf(grid);
  for (int64_t first = 0; first < blocks; first += cluster_size_) {
    if (clock_.now() > std::numeric_limits<uint32_t>::max() / 2) {
      return Fail(StatusCode::kResourceExhausted, "has too many blocks to interpret", -1);
    }
    RunCluster(grid, loop, first);
    if (failed_) return;
  }
  block_ = -1;
  CheckCounters();
}

void GpuMachine::CheckCounters() {
  for (const auto& [counter, round] : rounds_) {
    const std::string& name = kernel_.buffers[static_cast<size_t>(counter.first)].name;
    return Fail(StatusCode::kFailedPrecondition,
                "leaves counter '" + name + "[" + std::to_string(counter.second) + "]' at " +
                    std::to_string(round.arrived) + " after launch " + std::to_string(launch_),
                -1);
  }
}

void GpuMachine::Execute(const Stmt& stmt) {
  std::visit([this](const auto& node) { Do(node); }, stmt.node);
}

void GpuMachine::Do(const Block& block) {
  for (const StmtRef& stmt : block.body) {
    if (failed_) return;
    Execute(*stmt);
  }
}

void GpuMachine::Do(const For& loop) {
  LaneStack::Frame frame(stack_);
  Lane* begin = frame.Take(Count());
  Lane* end = frame.Take(Count());
  Eval(*loop.begin, begin);
  Eval(*loop.end, end);
  if (failed_) return;
  for (size_t i = 1; i < Count(); ++i) {
    if (begin[i].i != begin[0].i || end[i].i != end[0].i) return LoopApart(loop, begin, end);
  }
  int64_t* var = VarOf(loop.var);
  for (int64_t i = begin[0].i; i < end[0].i && !failed_;) {
    for (const int thread : active_) var[thread] = i;
    Execute(*loop.body);
    if (__builtin_add_overflow(i, loop.step, &i)) return;
  }
}

// Bounds that differ: the threads that have done their iterations wait for the others.
void GpuMachine::LoopApart(const For& loop, const Lane* begin, const Lane* end) {
  const std::vector<int> outer = active_;
  std::vector<int64_t> next(outer.size());
  for (size_t i = 0; i < outer.size(); ++i) next[i] = begin[i].i;
  int64_t* var = VarOf(loop.var);
  for (;;) {
    active_.clear();
    for (size_t i = 0; i < outer.size(); ++i) {
      if (next[i] >= end[i].i) continue;
      active_.push_back(outer[i]);
      var[outer[i]] = next[i];
      if (__builtin_add_overflow(next[i], loop.step, &next[i])) next[i] = end[i].i;
    }
    if (active_.empty()) break;
    Execute(*loop.body);
    if (failed_) break;
  }
  active_ = outer;
}

void GpuMachine::Do(const If& branch) {
  std::vector<int> taken, other;
  {
    LaneStack::Frame frame(stack_);
    Lane* condition = frame.Take(Count());
    Eval(*branch.condition, condition);
    if (failed_) return;
    for (size_t i = 0; i < Count(); ++i) {
      (condition[i].i != 0 ? taken : other).push_back(active_[i]);
    }
  }
  const std::vector<int> outer = std::move(active_);
  if (!taken.empty()) {
    active_ = std::move(taken);
    Execute(*branch.then_body);
  }
  if (!other.empty() && branch.else_body != nullptr && !failed_) {
    active_ = std::move(other);
    Execute(*branch.else_body);
  }
  active_ = outer;
}

void GpuMachine::Do(const Let& let) {
  LaneStack::Frame frame(stack_);
  Lane* values = frame.Take(Count());
  Eval(*let.value, values);
  int64_t* var = VarOf(let.var);
  for (size_t i = 0; i < Count(); ++i) var[active_[i]] = values[i].i;
}

void GpuMachine::Do(const Store& store) {
  LaneStack::Frame frame(stack_);
  const auto lanes = static_cast<size_t>(store.value->type.lanes);
  Lane* index = frame.Take(Count());
  Lane* values = frame.Take(Count() * lanes);
  Eval(*store.index, index);
  Eval(*store.value, values);
  const Lane* mask = EvalMask(store.mask, frame);
  if (failed_) return;
  GpuPrivate* own = PrivateOf(store.buffer);
  if (own == nullptr) return StoreMemory(store, index, values, mask);
  const bool whole = own->buffer().scope == Scope::kRegister;
  for (size_t i = 0; i < Count() && !failed_; ++i) {
    const int count = whole ? 1 : ActiveLanes(mask, i, static_cast<int>(lanes));
    for (int lane = 0; lane < count; ++lane) {
      const auto at = static_cast<uint64_t>(index[i].i) +
                      static_cast<uint64_t>(lane) * static_cast<uint64_t>(store.stride);
      if (!WritePrivate(*own, static_cast<int64_t>(at), active_[i],
                        values + i * lanes + static_cast<size_t>(lane))) {
        return;
      }
    }
  }
}

void GpuMachine::StoreMemory(const Store& store, const Lane* index, const Lane* values,
                             const Lane* mask) {
  GpuMemory& memory = MemoryOf(store.buffer);
  if (memory.buffer().scope == Scope::kSharedMemory)
    unfenced_.insert(active_.begin(), active_.end());
  const int lanes = store.value->type.lanes;
  for (size_t i = 0; i < Count(); ++i) {
    if (store.streaming && store.stride == 1 && index[i].i % lanes != 0) {
      return Fail(StatusCode::kFailedPrecondition,
                  "streams a vector to '" + memory.buffer().name + "[" +
                      std::to_string(index[i].i) + "]', which is not aligned to it",
                  active_[i]);
    }
    int64_t bad = 0;
    const GpuFault fault = memory.Write(index[i].i, store.stride, ActiveLanes(mask, i, lanes),
                                        active_[i], values + i * static_cast<size_t>(lanes), &bad);
    if (fault != GpuFault::kNone) {
      return FailAccess(fault, "writes", memory.buffer(), bad, active_[i]);
    }
  }
}

void GpuMachine::Do(const Prefetch& prefetch) {
  LaneStack::Frame frame(stack_);
  Eval(*prefetch.index, frame.Take(Count()));
}

bool GpuMachine::ReadPrivate(GpuPrivate& from, int64_t index, int thread, Lane* values) {
  if (!from.Inside(index)) {
    FailAccess(GpuFault::kBounds, "reads", from.buffer(), index, thread);
  } else if (!from.IsWritten(index, thread, clock_.block())) {
    FailAccess(GpuFault::kUninitialised, "reads", from.buffer(), index, thread);
  } else {
    std::copy_n(from.At(index, thread), from.buffer().lanes, values);
  }
  return !failed_;
}

bool GpuMachine::WritePrivate(GpuPrivate& to, int64_t index, int thread, const Lane* values) {
  if (!to.Inside(index)) {
    FailAccess(GpuFault::kBounds, "writes", to.buffer(), index, thread);
    return false;
  }
  std::copy_n(values, to.buffer().lanes, to.At(index, thread));
  to.MarkWritten(index, thread, clock_.block());
  return true;
}

void GpuMachine::Fail(StatusCode code, const std::string& what, int thread) {
  if (failed_) return;
  failed_ = true;
  std::string text = "kernel '" + kernel_.name + "' " + what;
  if (thread >= 0) text += ", in thread " + std::to_string(thread);
  if (block_ >= 0) {
    text += thread >= 0 ? " of block " : ", in block ";
    text += std::to_string(block_) + " of launch " + std::to_string(launch_);
  }
  error_ = Status(code, std::move(text));
}

void GpuMachine::FailAccess(GpuFault fault, const char* verb, const Buffer& buffer, int64_t index,
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

}  // namespace mlc::ir
