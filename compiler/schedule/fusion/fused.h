// The pointwise and data-movement part of a workload, emitted at one point of an index space.
// Families use it for prologues, epilogues and whole pointwise kernels, so that fusion works the
// same everywhere. Data movement costs no pass over memory: it becomes a change of coordinates on
// the way from the output to the sources. Not thread-safe; borrows the workload and the builder.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "compiler/graph/workload.h"
#include "compiler/ir/build.h"
#include "compiler/schedule/space/family.h"

namespace mlc::schedule {

// A point, or `lanes` consecutive points along logical dimension `dim`, of a value's index space.
// A vector starts at a multiple of `lanes` along `dim`, unless `step` says otherwise.
struct Point {
  std::vector<ir::ExprRef> at;  // one i64 per logical dimension; the first lane's coordinates
  int dim = -1;                 // vectorised dimension; -1 for a scalar
  int lanes = 1;
  ir::ExprRef active;  // number of lanes inside the shape; null when all are
  // Coordinates between lanes; 0 stands for neighbours that start anywhere. Anything but 1 needs a
  // value without data movement.
  int64_t step = 1;
};

// f32 for the narrow floats, the type itself otherwise.
DType ComputeType(DType storage);

class Fused {
 public:
  // Declares one kIn parameter for each operand of the workload but those in `without` (prepared
  // weights, which the family declares itself), then one kOut for each output.
  Fused(const graph::Workload& workload, ir::KernelBuilder& builder, std::vector<int> without = {});
  // A part of `whole` over the same buffers: the part's operand i is the whole's operands[i], its
  // output i begins at element offsets[i] of the whole's outputs[i].
  Fused(const graph::Workload& part, ir::KernelBuilder& builder, const Fused& whole,
        const std::vector<int>& operands, const std::vector<int>& outputs,
        std::vector<int64_t> offsets);

  // Bindings of the declared parameters, in order of declaration.
  const std::vector<Binding>& bindings() const { return bindings_; }
  ir::BufferId OperandBuffer(int operand) const { return operands_.at(operand); }
  ir::BufferId OutputBuffer(int output) const { return outputs_[static_cast<size_t>(output)]; }

  // Element offset of a point in the storage of a value with strides.
  ir::ExprRef Offset(const graph::TensorType& type, std::span<const ir::ExprRef> at) const;

  // The value at the point. Nodes in `bound` are taken as given (the anchor's accumulator);
  // pointwise, cast and data-movement nodes are emitted in place; an intermediate read more than
  // once is kept in a register. Values are in compute type: f32 for f16 and bf16 storage. REQUIRES:
  // Covers(value, bound's keys), and Vectorises() for a vector point.
  ir::ExprRef Emit(graph::ValueId value, const Point& point,
                   const std::map<graph::ValueId, ir::ExprRef>& bound = {});
  // Emits and stores every output of the workload that Covers(); all have the anchor's index space.
  void StoreOutputs(const Point& point, const std::map<graph::ValueId, ir::ExprRef>& bound,
                    bool streaming = false);
  // Stores `value` (compute type; a scalar is broadcast) at a point of one output.
  void Store(int output, const Point& point, ir::ExprRef value, bool streaming = false);

  // True if `value` can be emitted from sources and the given anchors alone. Anchors are read at
  // the point itself, so only pointwise nodes of the same shape may stand between.
  static bool Covers(const graph::Workload& workload, graph::ValueId value,
                     std::span<const graph::ValueId> anchors);
  // True if Covers() holds and vectors of `lanes` along `dim` of the value can be emitted: no
  // index load, window edge or reshape seam falls inside a vector.
  static bool Vectorises(const graph::Workload& workload, graph::ValueId value, int dim, int lanes,
                         std::span<const graph::ValueId> anchors = {});

 private:
  // One coordinate of a vector of points: base + step * lane; base is a multiple of `align` (0: the
  // base is zero).
  struct Coord {
    ir::ExprRef base;
    int64_t step = 0;
    int64_t align = 1;
  };
  struct Place {
    std::vector<Coord> at;
    int lanes = 1;
    ir::ExprRef active;
    bool Uniform() const;
  };
  using PlaceRef = std::shared_ptr<const Place>;
  using Memo = std::map<std::pair<graph::ValueId, PlaceRef>, ir::ExprRef>;
  using Bound = std::map<graph::ValueId, ir::ExprRef>;

  // Each gives the value, scalar if the place is uniform; null when a vector cannot be formed.
  ir::ExprRef ValueAt(graph::ValueId id, const PlaceRef& place);
  ir::ExprRef Compute(graph::ValueId id, const PlaceRef& place);
  ir::ExprRef Source(graph::ValueId id, const Place& place, const graph::TensorType& type,
                     int64_t offset);
  ir::ExprRef Constant(const graph::Value& node) const;
  ir::ExprRef Pointwise(const graph::Value& node, const PlaceRef& place);
  ir::ExprRef CastTo(DType dtype, ir::ExprRef value) const;
  ir::ExprRef Moved(const graph::Value& node, const Place& place);
  ir::ExprRef View(const graph::Value& node, const Place& place);
  ir::ExprRef Concat(const graph::Value& node, const Place& place, size_t from);
  ir::ExprRef Pad(const graph::Value& node, const Place& place);
  ir::ExprRef Trilu(const graph::Value& node, const Place& place);
  ir::ExprRef Gather(const graph::Value& node, const Place& place);
  ir::ExprRef GatherElements(const graph::Value& node, const Place& place);
  ir::ExprRef GatherND(const graph::Value& node, const Place& place);
  ir::ExprRef Resize(const graph::Value& node, const Place& place);
  ir::ExprRef ResizeAxis(const graph::Value& node, Place place, size_t dim);

  // An index read from memory, wrapped if negative and clamped into [0, size).
  ir::ExprRef Index(graph::ValueId indices, Place place, int64_t size);
  bool Reshape(const Place& from, const std::vector<int64_t>& from_dims,
               const std::vector<int64_t>& to_dims, Place* to);
  // base / size and base % size; false if a vector would straddle a multiple of size.
  bool Split(const Coord& linear, int64_t size, int lanes, Coord* quotient, Coord* rest);
  PlaceRef Broadcasted(const PlaceRef& place, const std::vector<int64_t>& dims);
  // One of two values under a scalar condition, through a register; only one side is computed.
  ir::ExprRef Branch(const ir::ExprRef& condition, const std::function<ir::ExprRef()>& then_value,
                     const std::function<ir::ExprRef()>& else_value, DType dtype, int lanes);
  ir::ExprRef Keep(ir::ExprRef value);  // in a register
  ir::BufferId NextRegister(DType dtype, int lanes);
  void CountUses();
  void Forget();
  PlaceRef PlaceOf(const graph::TensorType& type, const Point& point) const;
  ir::ExprRef TryEmit(graph::ValueId value, const Point& point, const Bound& bound);

  const graph::Workload& workload_;
  ir::KernelBuilder& builder_;
  std::vector<Binding> bindings_;
  std::map<int, ir::BufferId> operands_;
  std::map<graph::ValueId, int> operand_of_;
  std::vector<ir::BufferId> outputs_;
  std::vector<int64_t> output_offsets_;
  std::vector<int> uses_;
  Memo memo_;
  std::vector<Memo::iterator> remembered_;  // all of memo_, in the order of coming
  const Bound* bound_ = nullptr;
  std::map<std::pair<DType, int>, std::vector<ir::BufferId>> registers_;
  std::map<std::pair<DType, int>, size_t> registers_used_;
};

}  // namespace mlc::schedule
