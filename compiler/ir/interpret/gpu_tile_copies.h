// Mbarriers of an interpreted GPU kernel, and the copies of tiles that arrive at them. Not
// thread-safe; borrows the state and the parts of the interpreter that it calls.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/interpret/gpu_cluster.h"
#include "compiler/ir/interpret/gpu_expr.h"
#include "compiler/ir/interpret/gpu_roles.h"
#include "compiler/ir/interpret/gpu_state.h"

namespace mlc::ir {

class GpuTileCopies {
 public:
  GpuTileCopies(GpuState& state, GpuExpressions& expressions, GpuCluster& cluster, GpuRoles& roles)
      : state_(state), expressions_(expressions), cluster_(cluster), roles_(roles) {}

  void Do(const MbarrierInit& init);
  void Do(const MbarrierArrive& arrive);
  void Do(const MbarrierWait& wait);
  void Do(const CopyBulk& copy);
  void Do(const CopyTensor& copy);

 private:
  std::string NameOf(const GpuAsync::Key& key) const;
  // Each false after a fault.
  bool Find(BufferId barrier, int64_t index, int thread, GpuAsync::Key* key);
  // Whether this block may touch the block of that rank now; fails otherwise.
  bool Reaches(int64_t rank, const std::string& what, int thread);
  // Chooses the blocks to which a copy goes: this one without ranks.
  bool Target(const Lane* ranks, const std::string& name, int thread);
  // Takes the place of a tile in each of them and signals it; its values follow.
  bool Put(BufferId to, int64_t at, int64_t count, int thread, BufferId barrier, int64_t index);
  bool PutOne(BufferId to, int64_t at, int64_t count, int thread, const GpuAsync::Key& key);
  void LearnInWarps();
  void PutRun(const CopyBulk& copy, int thread, int64_t to, int64_t from);
  static std::optional<int64_t> RowAt(const CopyTensor& copy, const std::vector<int64_t>& place,
                                      int64_t r);
  void PutBox(const CopyTensor& copy, int thread, int64_t to, const std::vector<int64_t>& place,
              int64_t k);
  void PutValue(BufferId to, int64_t at, Lane value);

  GpuState& state_;
  GpuExpressions& expressions_;
  GpuCluster& cluster_;
  GpuRoles& roles_;
  std::vector<int> targets_;  // ranks of the blocks to which the current copy goes
};

}  // namespace mlc::ir
