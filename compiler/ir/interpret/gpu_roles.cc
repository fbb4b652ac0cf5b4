#include "compiler/ir/interpret/gpu_roles.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

namespace mlc::ir {

namespace {

// How many of the threads, which are in order, are of the same warpgroup as the one at `first`.
size_t OfWarpgroup(const std::vector<int>& threads, size_t first) {
  size_t count = 0;
  while (first + count < threads.size() &&
         threads[first + count] / kWarpgroupThreads == threads[first] / kWarpgroupThreads) {
    ++count;
  }
  return count;
}

}  // namespace

// Splits the threads of each branch into warpgroups, and what there is of other warpgroups into
// warps. They take turns.
void GpuRoles::Run(const If& branch, const std::vector<int>& taken, const std::vector<int>& other,
                   const std::function<void(const Stmt&)>& execute) {
  struct Role {
    const Stmt* body;
    std::vector<int> threads;
  };
  std::vector<Role> roles;
  const auto add = [&](const StmtRef& body, const std::vector<int>& threads) {
    if (body == nullptr) return;
    for (size_t at = 0; at < threads.size();) {
      const size_t left = OfWarpgroup(threads, at);
      const size_t count = left == kWarpgroupThreads ? left : std::min<size_t>(left, kWarpThreads);
      const auto first = threads.begin() + static_cast<std::ptrdiff_t>(at);
      roles.push_back({body.get(), {first, first + static_cast<std::ptrdiff_t>(count)}});
      at += count;
    }
  };
  std::set<int> warps;
  for (const int thread : taken) warps.insert(thread / kWarpThreads);
  for (const int thread : other) {
    if (!warps.contains(thread / kWarpThreads)) continue;
    return state_.Fail(StatusCode::kFailedPrecondition, "splits a warp into roles", thread);
  }
  add(branch.then_body, taken);
  add(branch.else_body, other);
  if (roles.empty()) return;
  RoleTurns turns;
  turns_ = &turns;
  const std::vector<int> outer = std::move(state_.active);
  turns.Run(roles.size(), [&](size_t i) {
    if (state_.failed) return;
    state_.active = roles[i].threads;
    LaneStack outer_stack = std::exchange(state_.stack, {});
    execute(*roles[i].body);
    state_.stack = std::move(outer_stack);
  });
  turns_ = nullptr;
  state_.active = outer;
}

bool GpuRoles::PassTurn() {
  std::vector<int> active = std::move(state_.active);
  LaneStack stack = std::exchange(state_.stack, {});
  RoleTurns* const turns = turns_;
  bool passed = turns != nullptr && turns->Pass(state_.async.changes());
  if (!passed) {
    turns_ = nullptr;  // another block's roles take turns of their own
    passed = cluster_.PassTurn();
    turns_ = turns;
  }
  state_.active = std::move(active);
  state_.stack = std::move(stack);
  return passed;
}

}  // namespace mlc::ir
