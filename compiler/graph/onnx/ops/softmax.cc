// Softmax and its kin. Before version 13 they worked on the matrix that the axis cuts the operand
// into; since then along one axis.
#include "compiler/graph/onnx/axes.h"
#include "compiler/graph/onnx/tables.h"

namespace mlc::graph::onnx {
namespace {

using Formula = ValueId (*)(Builder& b, ValueId x, int64_t axis);

ValueId Soft(Builder& b, ValueId x, int64_t axis) { return b.Softmax(x, axis); }

ValueId LogSoft(Builder& b, ValueId x, int64_t axis) {
  Value log_softmax;
  log_softmax.op = Op::kLogSoftmax;
  log_softmax.operands = {x};
  log_softmax.attrs["axis"] = axis;
  return b.Add(std::move(log_softmax));
}

// One where the first largest element stands, zero elsewhere.
ValueId Hard(Builder& b, ValueId x, int64_t axis) {
  Value arg;
  arg.op = Op::kArg;
  arg.operands = {x};
  arg.attrs["kind"] = std::string("max");
  arg.attrs["axis"] = axis;
  const ValueId first = b.Add(std::move(arg));
  Dims places(static_cast<size_t>(b.Dim(x, axis)));
  for (size_t i = 0; i < places.size(); ++i) places[i] = static_cast<int64_t>(i);
  Dims dims(b.DimsOf(x).size(), 1);
  dims[static_cast<size_t>(axis)] = b.Dim(x, axis);
  const ValueId hit = b.Apply(ScalarOp::kEqual, {b.Reshape(b.IntVector(places), dims), first});
  return b.Cast(hit, b.DTypeOf(x));
}

void Along(OpContext& c, Formula formula) {
  Builder& b = c.b;
  const ValueId x = c.In(0);
  const bool flat = c.opset() < 13;
  const int64_t axis = Axis(c, c.Int("axis", flat ? 1 : -1), b.RankOf(x));
  if (!c.ok()) return;
  if (!flat || axis == b.RankOf(x) - 1) return c.Out(formula(b, x, axis));
  Dims two = {1, 1};
  for (int64_t i = 0; i < b.RankOf(x); ++i) two[i < axis ? 0 : 1] *= b.Dim(x, i);
  const Dims dims = b.DimsOf(x);
  c.Out(b.Reshape(formula(b, b.Reshape(x, two), 1), dims));
}

void Softmax(OpContext& c) { Along(c, Soft); }
void LogSoftmax(OpContext& c) { Along(c, LogSoft); }
void Hardmax(OpContext& c) { Along(c, Hard); }

constexpr OpRow kSoftmaxRows[] = {
    {"Hardmax", Hardmax, 1, 1},
    {"LogSoftmax", LogSoftmax, 1, 1},
    {"Softmax", Softmax, 1, 1},
};

}  // namespace

std::span<const OpRow> SoftmaxOps() { return kSoftmaxRows; }

}  // namespace mlc::graph::onnx
