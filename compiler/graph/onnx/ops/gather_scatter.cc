// Gathers and scatters. Constant indices are checked here; others are the kernels' to bound.
#include <algorithm>

#include "compiler/graph/onnx/axes.h"
#include "compiler/graph/onnx/tables.h"

namespace mlc::graph::onnx {
namespace {

constexpr int64_t kMaxCheckedIndices = int64_t{1} << 20;

bool Checkable(OpContext& c, ValueId indices) {
  return c.ok() && c.b.IsConstant(indices) &&
         c.b.TypeOf(indices).NumElements() <= kMaxCheckedIndices;
}

bool InRange(OpContext& c, int64_t index, int64_t dim) {
  if (index >= -dim && index < dim) return true;
  c.Fail("index " + std::to_string(index) + " is out of range for a dimension of " +
         std::to_string(dim));
  return false;
}

// Every constant index addresses the axis.
bool CheckAxisIndices(OpContext& c, ValueId indices, int64_t dim) {
  if (!Checkable(c, indices)) return c.ok();
  for (const int64_t index : c.b.Ints(indices, "indices")) {
    if (!InRange(c, index, dim)) return false;
  }
  return c.ok();
}

// Every constant index tuple addresses the dimensions from `first`.
bool CheckTuples(OpContext& c, ValueId indices, ValueId data, int64_t first) {
  if (!Checkable(c, indices)) return c.ok();
  const int64_t depth = c.b.Dim(indices, c.b.RankOf(indices) - 1);
  const Dims values = c.b.Ints(indices, "indices");
  for (size_t i = 0; i < values.size(); ++i) {
    const int64_t axis = first + static_cast<int64_t>(i) % depth;
    if (axis < c.b.RankOf(data) && !InRange(c, values[i], c.b.Dim(data, axis))) return false;
  }
  return c.ok();
}

std::string Reduction(OpContext& c) {
  const std::string reduction = c.Text("reduction", "none");
  if (reduction != "none" && reduction != "add" && reduction != "mul" && reduction != "max" &&
      reduction != "min") {
    c.Fail("the reduction must be none, add, mul, max or min");
  }
  return reduction;
}

// Rows that were joined to read each at its place, as m[i, j] of exporters with i and j of all
// places. Joined they could not be told apart at other sizes; passes find the same at one size.
bool ReadsJoinedInOrder(OpContext& c, ValueId data, ValueId indices, int64_t dim) {
  if (!ReadsSeveralSizes(c.b) || !IsReshape(c.b, data) || c.b.RankOf(indices) < 2) return false;
  if (!Checkable(c, indices) || c.b.TypeOf(indices).NumElements() != dim) return false;
  int64_t next = 0;
  for (const int64_t index : c.b.Ints(indices, "indices")) {
    if (index != next++) return false;
  }
  return true;
}

ValueId InOrder(OpContext& c, ValueId data, ValueId indices, int64_t axis) {
  Dims dims = c.b.DimsOf(data);
  const Dims& places = c.b.DimsOf(indices);
  const auto at = dims.erase(dims.begin() + axis);
  dims.insert(at, places.begin(), places.end());
  return c.b.Reshape(data, dims);
}

void GatherAlong(OpContext& c, Op op) {
  const ValueId data = c.In(0);
  const ValueId indices = c.In(1);
  const int64_t axis = Axis(c, c.Int("axis", 0), c.b.RankOf(data));
  if (!c.ok() || !CheckAxisIndices(c, indices, c.b.Dim(data, axis))) return;
  if (op == Op::kGather && ReadsJoinedInOrder(c, data, indices, c.b.Dim(data, axis))) {
    return c.Out(InOrder(c, data, indices, axis));
  }
  Value gather;
  gather.op = op;
  gather.operands = {data, indices};
  gather.attrs["axis"] = axis;
  c.Out(c.b.Add(std::move(gather)));
}

void Gather(OpContext& c) { GatherAlong(c, Op::kGather); }
void GatherElements(OpContext& c) { GatherAlong(c, Op::kGatherElements); }

void GatherND(OpContext& c) {
  const ValueId data = c.In(0);
  const ValueId indices = c.In(1);
  const int64_t batch = c.Int("batch_dims", 0);
  if (!c.ok()) return;
  if (batch < 0 || batch >= c.b.RankOf(indices)) return c.Fail("batch_dims is out of range");
  if (!CheckTuples(c, indices, data, batch)) return;
  Value gather;
  gather.op = Op::kGatherND;
  gather.operands = {data, indices};
  gather.attrs["batch_dims"] = batch;
  c.Out(c.b.Add(std::move(gather)));
}

void ScatterElements(OpContext& c) {
  const ValueId data = c.In(0);
  const ValueId indices = c.In(1);
  const ValueId updates = c.In(2);
  const int64_t axis = Axis(c, c.Int("axis", 0), c.b.RankOf(data));
  const std::string reduction = Reduction(c);
  if (!c.ok() || !CheckAxisIndices(c, indices, c.b.Dim(data, axis))) return;
  Value scatter;
  scatter.op = Op::kScatterElements;
  scatter.operands = {data, indices, updates};
  scatter.attrs["axis"] = axis;
  scatter.attrs["reduction"] = reduction;
  c.Out(c.b.Add(std::move(scatter)));
}

void ScatterND(OpContext& c) {
  const ValueId data = c.In(0);
  const ValueId indices = c.In(1);
  const ValueId updates = c.In(2);
  const std::string reduction = Reduction(c);
  if (!c.ok() || !CheckTuples(c, indices, data, 0)) return;
  Value scatter;
  scatter.op = Op::kScatterND;
  scatter.operands = {data, indices, updates};
  scatter.attrs["reduction"] = reduction;
  c.Out(c.b.Add(std::move(scatter)));
}

constexpr OpRow kGatherScatterRows[] = {
    {"Gather", Gather, 2, 1},
    {"GatherElements", GatherElements, 2, 1},
    {"GatherND", GatherND, 2, 1},
    {"Scatter", ScatterElements, 3, 1},
    {"ScatterElements", ScatterElements, 3, 1},
    {"ScatterND", ScatterND, 3, 1},
};

}  // namespace

std::span<const OpRow> GatherScatterOps() { return kGatherScatterRows; }

}  // namespace mlc::graph::onnx
