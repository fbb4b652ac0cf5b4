// The pointwise and data-movement part of a workload, emitted at one point of an index space.
// Families use it for prologues, epilogues and whole pointwise kernels, so that fusion works the
// same everywhere. Not thread-safe; borrows the workload and the builder.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "compiler/graph/workload.h"
#include "compiler/ir/build.h"
#include "compiler/schedule/family.h"

namespace mlc::schedule {

// A point, or `lanes` consecutive points along logical dimension `dim`, of a value's index space.
struct Point {
  std::vector<ir::ExprRef> at;  // one i64 per logical dimension; the first lane's coordinates
  int dim = -1;                 // vectorised dimension; -1 for a scalar
  int lanes = 1;
  ir::ExprRef active;  // number of lanes inside the shape; null when all are
};

class Fused {
 public:
  // Declares one kIn parameter for each operand of the workload but those in `without` (prepared
  // weights, which the family declares itself), then one kOut for each output.
  Fused(const graph::Workload& workload, ir::KernelBuilder& builder, std::vector<int> without = {});

  // Bindings of the declared parameters, in order of declaration.
  const std::vector<Binding>& bindings() const { return bindings_; }
  ir::BufferId OperandBuffer(int operand) const { return operands_.at(operand); }
  ir::BufferId OutputBuffer(int output) const { return outputs_[static_cast<size_t>(output)]; }

  // Element offset of a point in the storage of a value with strides.
  ir::ExprRef Offset(const graph::TensorType& type, std::span<const ir::ExprRef> at) const;

  // The value at the point. Nodes in `bound` are taken as given (the anchor's accumulator);
  // pointwise, cast and data-movement nodes are emitted in place; an intermediate read more than
  // once is kept in a register. Values are in compute type: f32 for f16 and bf16 storage. REQUIRES:
  // Covers(value, bound's keys).
  ir::ExprRef Emit(graph::ValueId value, const Point& point,
                   const std::map<graph::ValueId, ir::ExprRef>& bound = {});
  // Emits and stores every output of the workload that Covers(); all have the anchor's index space.
  void StoreOutputs(const Point& point, const std::map<graph::ValueId, ir::ExprRef>& bound,
                    bool streaming = false);

  // True if `value` can be emitted from sources and the given anchors alone.
  static bool Covers(const graph::Workload& workload, graph::ValueId value,
                     std::span<const graph::ValueId> anchors);

 private:
  const graph::Workload& workload_;
  ir::KernelBuilder& builder_;
  std::vector<Binding> bindings_;
  std::map<int, ir::BufferId> operands_;
  std::vector<ir::BufferId> outputs_;
};

}  // namespace mlc::schedule
