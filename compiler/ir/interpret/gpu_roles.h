// The branches of a roles if in an interpreted GPU kernel: each warpgroup, and each warp of one
// that is not whole, goes its own way until it has to wait for another one. Not thread-safe;
// borrows the state and the cluster.
#pragma once

#include <functional>
#include <vector>

#include "compiler/ir/interpret/gpu_cluster.h"
#include "compiler/ir/interpret/gpu_state.h"
#include "compiler/ir/interpret/role_turns.h"

namespace mlc::ir {

class GpuRoles {
 public:
  GpuRoles(GpuState& state, GpuCluster& cluster) : state_(state), cluster_(cluster) {}

  // `taken`, `other`: the threads of the two branches, in order. `execute` runs a statement for the
  // state's active threads.
  void Run(const If& branch, const std::vector<int>& taken, const std::vector<int>& other,
           const std::function<void(const Stmt&)>& execute);
  // From `execute`: another role goes on, or one of another block of the cluster. False where there
  // is none, or where all would wait for ever.
  bool PassTurn();

 private:
  GpuState& state_;
  GpuCluster& cluster_;
  RoleTurns* turns_ = nullptr;  // of the current block, while roles run
};

}  // namespace mlc::ir
