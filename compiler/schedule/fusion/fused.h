// The pointwise and data-movement part of a workload, emitted at one point of an index space.
// Families use it for prologues, epilogues and whole pointwise kernels, so that fusion works the
// same everywhere. Data movement costs no pass over memory (fused_values.h). Not thread-safe;
// borrows the workload and the builder.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "compiler/graph/workload.h"
#include "compiler/ir/build.h"
#include "compiler/schedule/fusion/fused_place.h"
#include "compiler/schedule/fusion/fused_values.h"
#include "compiler/schedule/space/family.h"

namespace mlc::schedule {

class Fused {
 public:
  // Declares one kIn parameter for each operand of the workload but those in `without` (prepared
  // weights, which the family declares itself), then one kOut for each output.
  Fused(const graph::Workload& workload, ir::KernelBuilder& builder,
        const std::vector<int>& without = {});
  // A part of `whole` over the same buffers: the part's operand i is the whole's operands[i], its
  // output i begins at element offsets[i] of the whole's outputs[i].
  Fused(const graph::Workload& part, ir::KernelBuilder& builder, const Fused& whole,
        const std::vector<int>& operands, const std::vector<int>& outputs,
        std::vector<int64_t> offsets);

  // Bindings of the declared parameters, in order of declaration.
  const std::vector<Binding>& bindings() const { return bindings_; }
  ir::BufferId OperandBuffer(int operand) const { return values_.Buffer(operand); }
  ir::BufferId OutputBuffer(int output) const { return outputs_[static_cast<size_t>(output)]; }

  // Element offset of a point in the storage of a value with strides.
  ir::ExprRef Offset(const graph::TensorType& type, std::span<const ir::ExprRef> at) const;

  // Emits the value at the point. Nodes in `bound` have given values (the anchor's accumulator).
  // Pointwise, cast and data-movement nodes are emitted in place; an intermediate that is read more
  // than once goes to a register. Values are in compute type: f32 for f16 and bf16 storage.
  // REQUIRES: Covers(value, bound's keys), and Vectorises() for a vector point.
  ir::ExprRef Emit(graph::ValueId value, const Point& point,
                   const std::map<graph::ValueId, ir::ExprRef>& bound = {});
  // Emits and stores every output of the workload with Covers(); all have the anchor's index space.
  void StoreOutputs(const Point& point, const std::map<graph::ValueId, ir::ExprRef>& bound,
                    bool streaming = false);
  // Stores `value` (compute type; a scalar is broadcast) at a point of one output.
  void Store(int output, const Point& point, ir::ExprRef value, bool streaming = false);

  // True if `value` can be emitted from sources and the given anchors alone. Anchors are read at
  // the point itself, so only pointwise nodes of the same shape may be in between.
  static bool Covers(const graph::Workload& workload, graph::ValueId value,
                     std::span<const graph::ValueId> anchors);
  // True if Covers() holds and vectors of `lanes` along `dim` of the value can be emitted: no
  // index load, window edge or reshape seam falls inside a vector.
  static bool Vectorises(const graph::Workload& workload, graph::ValueId value, int dim, int lanes,
                         std::span<const graph::ValueId> anchors = {});

 private:
  ir::ExprRef TryEmit(graph::ValueId value, const Point& point, const FusedValues::Bound& bound);

  const graph::Workload& workload_;
  ir::KernelBuilder& builder_;
  std::vector<Binding> bindings_;
  FusedValues values_;
  std::vector<ir::BufferId> outputs_;
  std::vector<int64_t> output_offsets_;
};

}  // namespace mlc::schedule
