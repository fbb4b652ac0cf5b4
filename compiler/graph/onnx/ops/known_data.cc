// Operators that rearrange sequences by lengths or positions.
#include <algorithm>
#include <numeric>

#include "compiler/graph/onnx/axes.h"
#include "compiler/graph/onnx/tables.h"

namespace mlc::graph::onnx {
namespace {

constexpr int64_t kMaxElements = int64_t{1} << 24;

Dims Count(int64_t count) {
  Dims values(static_cast<size_t>(count));
  std::iota(values.begin(), values.end(), 0);
  return values;
}

// `values` shaped to stand along `axis` of a value of rank `rank`.
ValueId Along(Builder& b, ValueId values, int64_t axis, int rank) {
  Dims dims(static_cast<size_t>(rank), 1);
  dims[static_cast<size_t>(axis)] = b.TypeOf(values).NumElements();
  return b.Reshape(values, dims);
}

void ReverseSequence(OpContext& c) {
  Builder& b = c.b;
  const ValueId x = c.In(0);
  const ValueId lengths = b.Cast(c.In(1), DType::kI64);
  const int rank = b.RankOf(x);
  const int64_t batch = Axis(c, c.Int("batch_axis", 1), rank);
  const int64_t time = Axis(c, c.Int("time_axis", 0), rank);
  if (!c.ok()) return;
  if (batch == time || b.DimsOf(lengths) != Dims{b.Dim(x, batch)}) {
    return c.Fail("the lengths do not fit the batch");
  }
  if (b.Dim(x, time) > kMaxElements) return c.Unsupported("a sequence of this length");
  const ValueId at = Along(b, b.IntVector(Count(b.Dim(x, time))), time, rank);
  const ValueId length = Along(b, lengths, batch, rank);
  const ValueId mirrored = b.Minus(b.Minus(length, b.IntScalar(1)), at);
  const ValueId index = b.Select(b.Apply(ScalarOp::kLess, {at, length}), mirrored, at);
  Value gather;
  gather.op = Op::kGatherElements;
  gather.operands = {x, b.Expand(index, b.DimsOf(x))};
  gather.attrs["axis"] = time;
  c.Out(b.Add(std::move(gather)));
}

// Writes the update into the cache from each batch's position on.
void TensorScatter(OpContext& c) {
  Builder& b = c.b;
  const ValueId cache = c.In(0);
  const ValueId update = c.In(1);
  const int rank = b.RankOf(cache);
  const int64_t axis = Axis(c, c.Int("axis", -2), rank);
  const std::string mode = c.Text("mode", "linear");
  if (!c.ok()) return;
  if (mode != "linear" && mode != "circular") return c.Fail("the mode must be linear or circular");
  if (axis == 0 || b.RankOf(update) != rank) return c.Fail("the update does not fit the cache");
  if (b.Dim(update, axis) > kMaxElements) return c.Unsupported("an update of this size");
  ValueId index = Along(b, b.IntVector(Count(b.Dim(update, axis))), axis, rank);
  if (c.Has(2)) {
    const ValueId first = b.Cast(c.In(2), DType::kI64);
    if (b.DimsOf(first) != Dims{b.Dim(cache, 0)}) {
      return c.Fail("write_indices must have one entry a batch");
    }
    index = b.Plus(index, Along(b, first, 0, rank));
  }
  if (mode == "circular") {
    index = b.Apply(ScalarOp::kMod, {index, b.IntScalar(b.Dim(cache, axis))});
  }
  Value scatter;
  scatter.op = Op::kScatterElements;
  scatter.operands = {cache, b.Expand(index, b.DimsOf(update)), update};
  scatter.attrs["axis"] = axis;
  c.Out(b.Add(std::move(scatter)));
}

constexpr OpRow kKnownDataRows[] = {
    {"ReverseSequence", ReverseSequence, 2, 1},
    {"TensorScatter", TensorScatter, 3, 1},
};

}  // namespace

std::span<const OpRow> KnownDataOps() { return kKnownDataRows; }

}  // namespace mlc::graph::onnx
