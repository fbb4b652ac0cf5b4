// The values of a workload at places of their index spaces: sources, arithmetic and data movement.
// Data movement becomes a change of coordinates between the output and the sources. Not
// thread-safe; borrows the workload and the builder.
#pragma once

#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "compiler/graph/workload.h"
#include "compiler/ir/build.h"
#include "compiler/schedule/fusion/fused_place.h"
#include "compiler/schedule/fusion/register_pool.h"

namespace mlc::schedule {

// f32 for the narrow floats, the type itself otherwise.
DType ComputeType(DType storage);
// The value of a splat constant or of the border of a padding, in compute type.
ir::ExprRef SplatOf(const graph::Value& node);
// Casts a value; a cast to bool is "not zero".
ir::ExprRef CastTo(DType dtype, ir::ExprRef value);

// Buffers of a workload's operands.
struct OperandBuffers {
  std::map<int, ir::BufferId> buffers;    // by operand
  std::map<graph::ValueId, int> numbers;  // of operands, by value
};

class FusedValues {
 public:
  using Bound = std::map<graph::ValueId, ir::ExprRef>;

  FusedValues(const graph::Workload& workload, ir::KernelBuilder& builder, OperandBuffers operands);

  ir::BufferId Buffer(int operand) const { return operands_.buffers.at(operand); }
  RegisterPool& registers() { return registers_; }

  // Begins a part of the kernel in which the values in `bound` are given. Borrows `bound` until
  // End.
  void Begin(const Bound& bound);
  // Ends the part and forgets the values that were computed in it.
  void End();
  // Emits the value: scalar if the place is uniform; null if a vector cannot be formed. An
  // intermediate that is read more than once goes to a register. REQUIRES: between Begin and End.
  ir::ExprRef ValueAt(graph::ValueId id, const PlaceRef& place);

 private:
  using Memo = std::map<std::pair<graph::ValueId, PlaceRef>, ir::ExprRef>;

  ir::ExprRef Compute(graph::ValueId id, const PlaceRef& place);
  ir::ExprRef Source(graph::ValueId id, const Place& place, const graph::TensorType& type,
                     int64_t offset);
  ir::ExprRef Pointwise(const graph::Value& node, const PlaceRef& place);
  ir::ExprRef Moved(const graph::Value& node, const Place& place);
  ir::ExprRef View(const graph::Value& node, const Place& place);
  ir::ExprRef Concat(const graph::Value& node, const Place& place, size_t from);
  ir::ExprRef Pad(const graph::Value& node, const Place& place);
  ir::ExprRef Trilu(const graph::Value& node, const Place& place);
  ir::ExprRef Gather(const graph::Value& node, const Place& place);
  ir::ExprRef GatherElements(const graph::Value& node, const Place& place);
  ir::ExprRef GatherND(const graph::Value& node, const Place& place);
  ir::ExprRef ResizeAxis(const graph::Value& node, Place place, size_t dim);
  // An index read from memory, wrapped if negative and clamped into [0, size).
  ir::ExprRef Index(graph::ValueId indices, Place place, int64_t size);
  // One of two values under a scalar condition, through a register; the kernel computes only that
  // one.
  ir::ExprRef Branch(const ir::ExprRef& condition, const std::function<ir::ExprRef()>& then_value,
                     const std::function<ir::ExprRef()>& else_value, DType dtype, int lanes);

  const graph::Workload& workload_;
  ir::KernelBuilder& builder_;
  OperandBuffers operands_;
  RegisterPool registers_;
  std::vector<int> uses_;  // of each value, by the workload
  const Bound* bound_ = nullptr;
  Memo memo_;
  std::vector<Memo::iterator> remembered_;  // all of memo_, in the order of insertion
};

}  // namespace mlc::schedule
