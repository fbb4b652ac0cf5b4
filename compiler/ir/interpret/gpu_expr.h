// Expressions of an interpreted GPU kernel: arrays over the active threads, thread by thread, then
// lane by lane. Not thread-safe; borrows the state.
#pragma once

#include "compiler/ir/interpret/gpu_state.h"

namespace mlc::ir {

// Lanes that an access of active thread `at` touches; all of them without a mask.
int ActiveLanes(const Lane* mask, size_t at, int lanes);

class GpuExpressions {
 public:
  explicit GpuExpressions(GpuState& state) : state_(state) {}

  // `out` has room for each active thread's lanes.
  void Eval(const Expr& e, Lane* out);
  // Null for a missing mask.
  Lane* EvalMask(const ExprRef& mask, LaneStack::Frame& frame);

 private:
  void Node(const Type& type, const IntImm& constant, Lane* out);
  void Node(const Type& type, const FloatImm& constant, Lane* out);
  void Node(const Type& type, const VarRef& ref, Lane* out);
  void Node(const Type& type, const Load& load, Lane* out);
  void Node(const Type& type, const Apply& apply, Lane* out);
  void Node(const Type& type, const Cast& cast, Lane* out);
  void Node(const Type& type, const Broadcast& broadcast, Lane* out);
  void Node(const Type& type, const ReduceLanes& reduce, Lane* out);
  void Node(const Type& type, const LaneMask& mask, Lane* out);
  void Node(const Type& type, const LaneIndex& index, Lane* out);
  void Node(const Type& type, const ShuffleXor& shuffle, Lane* out);

  GpuState& state_;
};

}  // namespace mlc::ir
