// NonMaxSuppression: the boxes of each class that overlap no better one.
#include <algorithm>
#include <limits>

#include "compiler/graph/onnx/tables.h"

namespace mlc::graph::onnx {
namespace {

constexpr int64_t kMostBoxes = int64_t{1} << 20;

// An operand as a vector of one element, or the number that stands for an absent one.
ValueId Limit(OpContext& c, int operand, DType dtype, double absent) {
  Builder& b = c.b;
  const ValueId given = c.Has(operand) ? c.In(operand) : b.Scalar(dtype, absent);
  if (c.ok() && b.TypeOf(given).NumElements() != 1) {
    c.Fail("operand " + std::to_string(operand) + " must have one element");
  }
  return b.Reshape(b.Cast(given, dtype), {1});
}

// The most boxes of a class that a run may select.
int64_t RoomOf(OpContext& c, ValueId most, int64_t boxes) {
  if (!c.ok() || !c.b.IsConstant(most)) return boxes;
  return std::clamp<int64_t>(c.b.Ints(most, "operand 2")[0], 0, boxes);
}

// A column of the result: batch entries, classes or boxes of the selected places.
ValueId Column(Builder& b, ValueId x) { return b.Reshape(x, {b.Dim(x, 0), 1}); }

void NonMaxSuppression(OpContext& c) {
  Builder& b = c.b;
  const ValueId boxes = c.In(0);
  const ValueId scores = c.In(1);
  const bool is_center = c.Flag("center_point_box", false);
  if (!c.ok()) return;
  if (b.RankOf(boxes) != 3 || b.RankOf(scores) != 3) return c.Fail("boxes and scores have rank 3");
  const int64_t batches = b.Dim(scores, 0), classes = b.Dim(scores, 1), count = b.Dim(scores, 2);
  if (count > kMostBoxes) {
    return c.Unsupported("a choice among more than " + std::to_string(kMostBoxes) + " boxes");
  }
  const ValueId most = Limit(c, 2, DType::kI64, 0);
  const int64_t room = RoomOf(c, most, count);
  if ((room == 0 && count > 0) || batches == 0 || classes == 0) {
    return c.Out(b.Reshape(b.IntVector({}), {0, 3}));
  }
  Value node;
  node.op = Op::kSuppress;
  node.operands = {boxes, scores, most, Limit(c, 3, DType::kF32, 0),
                   Limit(c, 4, DType::kF32, -std::numeric_limits<double>::infinity())};
  node.attrs["center"] = int64_t{is_center};
  node.type = {DType::kI64, {batches, classes, room}, {}};
  if (!c.ok()) return;
  const ValueId selected = b.Reshape(b.Add(std::move(node)), {batches * classes * room});
  const ValueId is_box = b.Apply(ScalarOp::kLessEqual, {b.IntScalar(0), selected});
  const ValueId places = c.counted.PlacesOf(b, is_box).places;
  const ValueId zero = b.TimesNumber(places, 0.0);
  ValueId batch = zero, of_class = zero;
  if (batches > 1) batch = b.Over(places, b.IntScalar(classes * room));
  if (classes > 1) {
    of_class = b.Apply(ScalarOp::kMod, {b.Over(places, b.IntScalar(room)), b.IntScalar(classes)});
  }
  const ValueId box = b.Gather(selected, places, 0);
  c.Out(b.Concat({Column(b, batch), Column(b, of_class), Column(b, box)}, 1));
}

constexpr OpRow kSuppressionRows[] = {
    {"NonMaxSuppression", NonMaxSuppression, 5, 1, "at most 2^20 boxes"}};

}  // namespace

std::span<const OpRow> SuppressionOps() { return kSuppressionRows; }

}  // namespace mlc::graph::onnx
