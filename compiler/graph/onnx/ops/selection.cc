// Selections of elements: NonZero and Compress. How many there are depends on data.
#include <algorithm>

#include "compiler/graph/onnx/axes.h"
#include "compiler/graph/onnx/tables.h"

namespace mlc::graph::onnx {
namespace {

constexpr int64_t kMostElements = int64_t{1} << 24;

// The coordinates of all elements that are not zero, one row a dimension.
void NonZero(OpContext& c) {
  Builder& b = c.b;
  const ValueId x = c.In(0);
  if (!c.ok()) return;
  if (b.TypeOf(x).NumElements() > kMostElements) return c.Unsupported("an operand of this size");
  Dims dims = b.DimsOf(x);
  if (dims.empty()) dims = {1};
  const Dims strides = DenseStrides(dims);
  const ValueId places = c.counted.PlacesOf(b, c.counted.ConditionOf(b, x)).places;
  std::vector<ValueId> rows;
  for (size_t d = 0; d < dims.size(); ++d) {
    ValueId row = places;
    if (strides[d] != 1) row = b.Over(row, b.IntScalar(strides[d]));
    if (d != 0) row = b.Apply(ScalarOp::kMod, {row, b.IntScalar(std::max<int64_t>(dims[d], 1))});
    rows.push_back(b.Reshape(row, {1, b.Dim(places, 0)}));
  }
  c.Out(b.Concat(std::move(rows), 0));
}

void Compress(OpContext& c) {
  Builder& b = c.b;
  ValueId x = c.In(0);
  const ValueId condition = c.In(1);
  if (!c.ok()) return;
  int64_t axis = 0;
  if (c.HasAttr("axis")) {
    axis = Axis(c, c.Int("axis", 0), b.RankOf(x));
  } else {
    x = b.Reshape(x, {b.TypeOf(x).NumElements()});
  }
  if (!c.ok()) return;
  if (b.RankOf(condition) != 1) return c.Fail("the condition must be a vector");
  const CountedDims::Places chosen = c.counted.PlacesOf(b, c.counted.ConditionOf(b, condition));
  if (!c.ok()) return;
  // The standard lets a constant condition go on behind the axis where it selects nothing.
  int64_t end = b.Dim(condition, 0);
  if (b.IsConstant(chosen.places)) {
    const Dims places = b.Ints(chosen.places, "operand 1");
    end = places.empty() ? 0 : places.back() + 1;
  }
  if (end > b.Dim(x, axis)) return c.Fail("the condition is longer than the axis");
  c.Out(b.Gather(x, chosen.places, axis));
}

constexpr OpRow kSelectionRows[] = {
    {"Compress", Compress, 2, 1},
    {"NonZero", NonZero, 1, 1, "operands of at most 2^24 elements"},
};

}  // namespace

std::span<const OpRow> SelectionOps() { return kSelectionRows; }

}  // namespace mlc::graph::onnx
