// Reductions, choices of the largest or smallest element, and cumulative sums.
#include <algorithm>

#include "compiler/graph/onnx/axes.h"
#include "compiler/graph/onnx/tables.h"

namespace mlc::graph::onnx {
namespace {

constexpr int64_t kMaxProducts = 4096;

// The axes to reduce, ascending; nullopt: none, the value passes unreduced.
std::optional<Dims> ReducedAxes(OpContext& c, ValueId x) {
  Dims axes = AxesOperandOrAttr(c, 1).value_or(Dims{});
  if (axes.empty()) {
    if (c.Flag("noop_with_empty_axes", false)) return std::nullopt;
    for (int64_t i = 0; i < c.b.RankOf(x); ++i) axes.push_back(i);
    return axes;
  }
  axes = Axes(c, std::move(axes), c.b.RankOf(x));
  std::sort(axes.begin(), axes.end());
  return axes;
}

ValueId Reduced(OpContext& c, const char* kind, ValueId x) {
  const std::optional<Dims> axes = ReducedAxes(c, x);
  if (!c.ok()) return kNoValue;
  // Without axes the elementwise part of the reduction remains: a reduction over no dimension.
  return c.b.Reduce(kind, x, axes.value_or(Dims{}), c.Flag("keepdims", true));
}

void Sum(OpContext& c) { c.Out(Reduced(c, "sum", c.In(0))); }
void Mean(OpContext& c) { c.Out(Reduced(c, "mean", c.In(0))); }
void Prod(OpContext& c) { c.Out(Reduced(c, "prod", c.In(0))); }
void L1(OpContext& c) { c.Out(Reduced(c, "l1", c.In(0))); }
void L2(OpContext& c) { c.Out(Reduced(c, "l2", c.In(0))); }
void SumSquare(OpContext& c) { c.Out(Reduced(c, "sum_square", c.In(0))); }
void LogSumExp(OpContext& c) { c.Out(Reduced(c, "log_sum_exp", c.In(0))); }
void LogSum(OpContext& c) { c.Out(c.b.Apply(ScalarOp::kLog, {Reduced(c, "sum", c.In(0))})); }

// Booleans reduce as 0 and 1.
void Extreme(OpContext& c, const char* kind) {
  const ValueId x = c.In(0);
  if (c.b.DTypeOf(x) != DType::kBool) return c.Out(Reduced(c, kind, x));
  c.Out(c.b.Cast(Reduced(c, kind, c.b.Cast(x, DType::kU8)), DType::kBool));
}

void Max(OpContext& c) { Extreme(c, "max"); }
void Min(OpContext& c) { Extreme(c, "min"); }

void Arg(OpContext& c, const char* kind) {
  const ValueId x = c.In(0);
  const int64_t axis = Axis(c, c.Int("axis", 0), c.b.RankOf(x));
  if (!c.ok()) return;
  Value arg;
  arg.op = Op::kArg;
  arg.operands = {x};
  arg.attrs["kind"] = std::string(kind);
  arg.attrs["axis"] = axis;
  arg.attrs["keepdims"] = int64_t{c.Flag("keepdims", true)};
  arg.attrs["select_last"] = int64_t{c.Flag("select_last_index", false)};
  c.Out(c.b.Add(std::move(arg)));
}

void ArgMax(OpContext& c) { Arg(c, "max"); }
void ArgMin(OpContext& c) { Arg(c, "min"); }

void CumSum(OpContext& c) {
  const ValueId x = c.In(0);
  const Dims axis = c.IntsIn(1);
  if (!c.ok()) return;
  if (axis.size() != 1) return c.Fail("the axis must be a scalar");
  Value sum;
  sum.op = Op::kCumSum;
  sum.operands = {x};
  sum.attrs["axis"] = Axis(c, axis[0], c.b.RankOf(x));
  sum.attrs["exclusive"] = int64_t{c.Flag("exclusive", false)};
  sum.attrs["reverse"] = int64_t{c.Flag("reverse", false)};
  if (!c.ok()) return;
  c.Out(c.b.Add(std::move(sum)));
}

// The products of an axis by all its beginnings, with ones for what a beginning leaves out.
void CumProd(OpContext& c) {
  Builder& b = c.b;
  const ValueId x = c.In(0);
  const Dims operand = c.IntsIn(1);
  const bool exclusive = c.Flag("exclusive", false);
  const bool reverse = c.Flag("reverse", false);
  if (!c.ok()) return;
  if (operand.size() != 1) return c.Fail("the axis must be a scalar");
  const int64_t axis = Axis(c, operand[0], b.RankOf(x));
  const int64_t length = b.Dim(x, axis);
  if (length > kMaxProducts) return c.Unsupported("an axis of this length");
  if (!c.ok()) return;
  Dims counts(static_cast<size_t>(length));
  for (int64_t i = 0; i < length; ++i) counts[static_cast<size_t>(i)] = i;
  const ValueId place = b.IntVector(counts);
  const ValueId end = b.Reshape(place, {length, 1});
  const ValueId first = reverse ? end : place;
  const ValueId last = reverse ? place : end;
  const ScalarOp before = exclusive ? ScalarOp::kLess : ScalarOp::kLessEqual;
  Dims shape(b.DimsOf(x).size() + 1, 1);  // of the flags, along the axis and a new one
  shape[static_cast<size_t>(axis)] = length;
  shape[static_cast<size_t>(axis) + 1] = length;
  const ValueId kept = b.Reshape(b.Apply(before, {first, last}), shape);
  Dims wide = b.DimsOf(x);
  wide.insert(wide.begin() + axis, 1);
  const ValueId factors = b.Select(kept, b.Reshape(x, wide), b.ScalarLike(x, 1));
  c.Out(b.Reduce("prod", factors, {axis + 1}, false));
}

void Trilu(OpContext& c) {
  const ValueId x = c.In(0);
  const Dims k = c.Has(1) ? c.IntsIn(1) : Dims{0};
  if (!c.ok()) return;
  if (k.size() != 1) return c.Fail("k must be a scalar");
  Value trilu;
  trilu.op = Op::kTrilu;
  trilu.operands = {x};
  trilu.attrs["upper"] = int64_t{c.Flag("upper", true)};
  // Beyond the matrix every k means the same.
  constexpr int64_t kFar = int64_t{1} << 36;
  trilu.attrs["k"] = std::clamp(k[0], -kFar, kFar);
  c.Out(c.b.Add(std::move(trilu)));
}

constexpr OpRow kReduceRows[] = {
    {"ArgMax", ArgMax, 1, 1},
    {"ArgMin", ArgMin, 1, 1},
    {"CumProd", CumProd, 2, 1, "an axis of at most 4096 elements"},
    {"CumSum", CumSum, 2, 1},
    {"ReduceL1", L1, 2, 1},
    {"ReduceL2", L2, 2, 1},
    {"ReduceLogSum", LogSum, 2, 1},
    {"ReduceLogSumExp", LogSumExp, 2, 1},
    {"ReduceMax", Max, 2, 1},
    {"ReduceMean", Mean, 2, 1},
    {"ReduceMin", Min, 2, 1},
    {"ReduceProd", Prod, 2, 1},
    {"ReduceSum", Sum, 2, 1},
    {"ReduceSumSquare", SumSquare, 2, 1},
    {"Trilu", Trilu, 2, 1},
};

}  // namespace

std::span<const OpRow> ReduceOps() { return kReduceRows; }

}  // namespace mlc::graph::onnx
