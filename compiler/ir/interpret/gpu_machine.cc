#include "compiler/ir/interpret/gpu_machine.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace mlc::ir {

namespace {

const For& ThreadsOf(const For& grid) {
  return std::get<For>(std::get<Block>(grid.body->node).body[0]->node);
}

int64_t ExtentOf(const For& loop) { return std::get<IntImm>(loop.end->node).value; }

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

// The number of threads of the largest block.
size_t MaxThreads(const Kernel& kernel) {
  int64_t most = 0;
  for (const StmtRef& phase : kernel.phases) {
    most = std::max(most, ExtentOf(ThreadsOf(std::get<For>(phase->node))));
  }
  return static_cast<size_t>(most);
}

}  // namespace

GpuMachine::GpuMachine(const Kernel& kernel, std::span<const std::span<std::byte>> params)
    : state_(kernel, MaxThreads(kernel)),
      expressions_(state_),
      matrices_(state_, expressions_),
      products_(state_, expressions_),
      sync_(state_, expressions_, products_),
      cluster_(state_, expressions_),
      roles_(state_, cluster_),
      tile_copies_(state_, expressions_, cluster_, roles_) {
  cluster_.MakeBlock(params);
  int cluster = 1;
  for (const StmtRef& phase : kernel.phases) {
    cluster = std::max(cluster, ThreadsOf(std::get<For>(phase->node)).cluster);
  }
  if (cluster > 1) cluster_.MakeOthers(cluster);
}

Status GpuMachine::Run() {
  for (const StmtRef& phase : state_.kernel.phases) {
    ++state_.launch;
    RunLaunch(std::get<For>(phase->node));
    if (state_.failed) return state_.error;
  }
  return {};
}

void GpuMachine::RunLaunch(const For& grid) {
  const For& loop = ThreadsOf(grid);
  state_.threads = static_cast<int>(ExtentOf(loop));
  state_.cluster_size = loop.cluster;
  state_.clock.StartLaunch(state_.threads);
  const int64_t blocks = ExtentOf(grid);
  for (int64_t first = 0; first < blocks; first += state_.cluster_size) {
    if (state_.clock.now() > std::numeric_limits<uint32_t>::max() / 2) {
      return state_.Fail(StatusCode::kResourceExhausted, "has too many blocks to interpret", -1);
    }
    RunCluster(grid, loop, first);
    if (state_.failed) return;
  }
  state_.block_number = -1;
  sync_.CheckCounters();
}

void GpuMachine::StartBlock(const For& grid, const For& loop) {
  state_.clock.StartBlock(Awaits(loop.body));
  for (size_t i = 0; i < state_.block.memories.size(); ++i) {
    if (state_.kernel.buffers[i].scope == Scope::kSharedMemory)
      state_.block.memories[i]->StartBlock();
  }
  std::fill_n(state_.VarOf(grid.var), state_.threads, state_.block_number);
  std::iota(state_.VarOf(loop.var), state_.VarOf(loop.var) + state_.threads, 0);
}

void GpuMachine::RunCluster(const For& grid, const For& loop, int64_t first) {
  const std::vector<StmtRef>& body = std::get<Block>(loop.body->node).body;
  const auto is_end = [](const StmtRef& stmt) { return IsSync(stmt, SyncKind::kClusterBarrier); };
  std::vector<GpuClock::Span> seen, before;
  state_.async.StartCluster(state_.threads / kWarpThreads, state_.cluster_size);
  for (auto from = body.begin();;) {
    const auto past = std::find_if(from, body.end(), is_end);
    state_.last_part = past == body.end();
    cluster_.RunBlocks(first, [&] {
      if (from == body.begin()) {
        StartBlock(grid, loop);
      } else {
        cluster_.Resume(before);
      }
      for (auto stmt = from; stmt != past && !state_.failed; ++stmt) Execute(**stmt);
      if (state_.failed) return;
      if (state_.last_part) {
        for (GpuCopies& copies : state_.block.copies) copies.EndBlock();
        products_.EndBlock();
      } else {
        cluster_.Leave();
        state_.clock.Publish(&seen);
      }
    });
    if (state_.failed || state_.last_part) return;
    state_.async.ClusterBarrier();
    from = past + 1;
    before = std::exchange(seen, {});
  }
}

void GpuMachine::Execute(const Stmt& stmt) {
  std::visit([this](const auto& node) { Do(node); }, stmt.node);
}

void GpuMachine::Do(const Block& block) {
  for (const StmtRef& stmt : block.body) {
    if (state_.failed) return;
    Execute(*stmt);
  }
}

void GpuMachine::Do(const For& loop) {
  LaneStack::Frame frame(state_.stack);
  Lane* begin = frame.Take(state_.Count());
  Lane* end = frame.Take(state_.Count());
  expressions_.Eval(*loop.begin, begin);
  expressions_.Eval(*loop.end, end);
  if (state_.failed) return;
  for (size_t i = 1; i < state_.Count(); ++i) {
    if (begin[i].i != begin[0].i || end[i].i != end[0].i) return LoopApart(loop, begin, end);
  }
  int64_t* var = state_.VarOf(loop.var);
  for (int64_t i = begin[0].i; i < end[0].i && !state_.failed;) {
    for (const int thread : state_.active) var[thread] = i;
    Execute(*loop.body);
    if (__builtin_add_overflow(i, loop.step, &i)) return;
  }
}

// Bounds that differ: the threads that have done their iterations wait for the others.
void GpuMachine::LoopApart(const For& loop, const Lane* begin, const Lane* end) {
  const std::vector<int> outer = state_.active;
  std::vector<int64_t> next(outer.size());
  for (size_t i = 0; i < outer.size(); ++i) next[i] = begin[i].i;
  int64_t* var = state_.VarOf(loop.var);
  for (;;) {
    state_.active.clear();
    for (size_t i = 0; i < outer.size(); ++i) {
      if (next[i] >= end[i].i) continue;
      state_.active.push_back(outer[i]);
      var[outer[i]] = next[i];
      if (__builtin_add_overflow(next[i], loop.step, &next[i])) next[i] = end[i].i;
    }
    if (state_.active.empty()) break;
    Execute(*loop.body);
    if (state_.failed) break;
  }
  state_.active = outer;
}

void GpuMachine::Do(const If& branch) {
  std::vector<int> taken, other;
  {
    LaneStack::Frame frame(state_.stack);
    Lane* condition = frame.Take(state_.Count());
    expressions_.Eval(*branch.condition, condition);
    if (state_.failed) return;
    for (size_t i = 0; i < state_.Count(); ++i) {
      (condition[i].i != 0 ? taken : other).push_back(state_.active[i]);
    }
  }
  if (branch.roles) {
    return roles_.Run(branch, taken, other, [this](const Stmt& stmt) { Execute(stmt); });
  }
  const std::vector<int> outer = std::move(state_.active);
  if (!taken.empty()) {
    state_.active = std::move(taken);
    Execute(*branch.then_body);
  }
  if (!other.empty() && branch.else_body != nullptr && !state_.failed) {
    state_.active = std::move(other);
    Execute(*branch.else_body);
  }
  state_.active = outer;
}

void GpuMachine::Do(const Let& let) {
  LaneStack::Frame frame(state_.stack);
  Lane* values = frame.Take(state_.Count());
  expressions_.Eval(*let.value, values);
  int64_t* var = state_.VarOf(let.var);
  for (size_t i = 0; i < state_.Count(); ++i) var[state_.active[i]] = values[i].i;
}

void GpuMachine::Do(const Store& store) {
  LaneStack::Frame frame(state_.stack);
  const auto lanes = static_cast<size_t>(store.value->type.lanes);
  Lane* index = frame.Take(state_.Count());
  Lane* values = frame.Take(state_.Count() * lanes);
  expressions_.Eval(*store.index, index);
  expressions_.Eval(*store.value, values);
  const Lane* mask = expressions_.EvalMask(store.mask, frame);
  if (state_.failed) return;
  GpuPrivate* own = state_.PrivateOf(store.buffer);
  if (own == nullptr) return StoreMemory(store, index, values, mask);
  const bool whole = own->buffer().scope == Scope::kRegister;
  for (size_t i = 0; i < state_.Count() && !state_.failed; ++i) {
    const int count = whole ? 1 : ActiveLanes(mask, i, static_cast<int>(lanes));
    for (int lane = 0; lane < count; ++lane) {
      const auto at = static_cast<uint64_t>(index[i].i) +
                      static_cast<uint64_t>(lane) * static_cast<uint64_t>(store.stride);
      if (!state_.WritePrivate(*own, static_cast<int64_t>(at), state_.active[i],
                               values + i * lanes + static_cast<size_t>(lane))) {
        return;
      }
    }
  }
}

void GpuMachine::StoreMemory(const Store& store, const Lane* index, const Lane* values,
                             const Lane* mask) {
  GpuMemory& memory = state_.MemoryOf(store.buffer);
  if (memory.buffer().scope == Scope::kSharedMemory)
    state_.block.unfenced.insert(state_.active.begin(), state_.active.end());
  const int lanes = store.value->type.lanes;
  for (size_t i = 0; i < state_.Count(); ++i) {
    if (store.streaming && store.stride == 1 && index[i].i % lanes != 0) {
      return state_.Fail(StatusCode::kFailedPrecondition,
                         "streams a vector to '" + memory.buffer().name + "[" +
                             std::to_string(index[i].i) + "]', which is not aligned to it",
                         state_.active[i]);
    }
    int64_t bad = 0;
    const GpuFault fault =
        memory.Write(index[i].i, store.stride, ActiveLanes(mask, i, lanes), state_.active[i],
                     values + i * static_cast<size_t>(lanes), &bad);
    if (fault != GpuFault::kNone) {
      return state_.FailAccess(fault, "writes", memory.buffer(), bad, state_.active[i]);
    }
  }
}

void GpuMachine::Do(const Prefetch& prefetch) {
  LaneStack::Frame frame(state_.stack);
  expressions_.Eval(*prefetch.index, frame.Take(state_.Count()));
}

}  // namespace mlc::ir
