#include "compiler/schedule/fusion/register_pool.h"

namespace mlc::schedule {

ir::BufferId RegisterPool::Next(DType dtype, int lanes) {
  const std::pair<DType, int> key(dtype, lanes);
  std::vector<ir::BufferId>& pool = registers_[key];
  const size_t slot = used_[key]++;
  if (slot == pool.size()) {
    pool.push_back(builder_.Registers("t", dtype, lanes, 1));
  }
  return pool[slot];
}

ir::ExprRef RegisterPool::Keep(ir::ExprRef value) {
  const ir::BufferId slot = Next(value->type.dtype, value->type.lanes);
  builder_.Set(slot, ir::Int(0), std::move(value));
  return builder_.Get(slot, ir::Int(0));
}

}  // namespace mlc::schedule
