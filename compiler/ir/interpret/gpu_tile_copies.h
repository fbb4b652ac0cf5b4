// Mbarriers of an interpreted GPU kernel, and the copies of tiles that arrive at them. Not
// thread-safe; borrows the state and the parts of the interpreter that it calls.
#pragma once

#include <cstdint>
#include <string>

#include "compiler/ir/interpret/gpu_expr.h"
#include "compiler/ir/interpret/gpu_roles.h"
#include "compiler/ir/interpret/gpu_state.h"

namespace mlc::ir {

class GpuTileCopies {
 public:
  GpuTileCopies(GpuState& state, GpuExpressions& expressions, GpuRoles& roles)
      : state_(state), expressions_(expressions), roles_(roles) {}

  void Do(const MbarrierInit& init);
  void Do(const MbarrierArrive& arrive);
  void Do(const MbarrierWait& wait);
  void Do(const CopyBulk& copy);
  void Do(const CopyTensor& copy);

 private:
  std::string NameOf(const GpuAsync::Key& key) const;
  // Each false after a fault.
  bool Find(BufferId barrier, int64_t index, int thread, GpuAsync::Key* key);
  // Takes the place of a tile and signals it; its values follow.
  bool Put(BufferId to, int64_t at, int64_t count, int thread, BufferId barrier, int64_t index);
  void LearnInWarps();
  void PutRun(const CopyBulk& copy, int thread, int64_t to, int64_t from);
  void PutBox(const CopyTensor& copy, int thread, int64_t to, int64_t row, int64_t k);

  GpuState& state_;
  GpuExpressions& expressions_;
  GpuRoles& roles_;
};

}  // namespace mlc::ir
