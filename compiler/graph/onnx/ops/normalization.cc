// Normalisations. What is constant per channel folds into one scale and one shift here.
#include <algorithm>

#include "compiler/graph/onnx/axes.h"
#include "compiler/graph/onnx/ops/norms.h"
#include "compiler/graph/onnx/tables.h"

namespace mlc::graph::onnx {
namespace {

// [C] to [C,1,1,...] beside an operand of the given rank.
ValueId PerChannel(Builder& b, ValueId vector, int rank) {
  Dims dims(static_cast<size_t>(std::max(rank - 1, 1)), 1);
  dims[0] = b.TypeOf(vector).NumElements();
  return b.Reshape(vector, dims);
}

bool CheckRank(OpContext& c, ValueId x, int rank) {
  if (c.ok() && c.b.RankOf(x) < rank) {
    c.Fail("operand 0 must have rank " + std::to_string(rank) + " or more");
  }
  return c.ok();
}

Dims AxesFrom(int64_t axis, int64_t rank) {
  Dims axes;
  for (int64_t i = axis; i < rank; ++i) axes.push_back(i);
  return axes;
}

}  // namespace

ValueId LayerNorm(Builder& b, std::vector<ValueId> operands, int64_t axis, double epsilon) {
  Value norm;
  norm.op = Op::kLayerNorm;
  norm.operands = std::move(operands);
  norm.attrs["axis"] = axis;
  norm.attrs["epsilon"] = epsilon;
  return b.Add(std::move(norm));
}

ValueId RmsNorm(Builder& b, ValueId x, ValueId scale, int64_t axis, double epsilon) {
  const ValueId wide = b.DTypeOf(x) == DType::kF64 ? x : b.Cast(x, DType::kF32);
  const ValueId square = b.Reduce("mean", b.Times(wide, wide), AxesFrom(axis, b.RankOf(x)), true);
  const ValueId size = b.Apply(ScalarOp::kSqrt, {b.PlusNumber(square, epsilon)});
  return b.Times(b.Cast(b.Over(wide, size), b.DTypeOf(scale)), scale);
}

namespace {

struct Statistics {
  ValueId mean = kNoValue;
  ValueId variance = kNoValue;
};

// Of each channel, over all other dimensions.
Statistics StatisticsOf(Builder& b, ValueId x) {
  Dims axes;
  for (int64_t i = 0; i < b.RankOf(x); ++i) {
    if (i != 1) axes.push_back(i);
  }
  const ValueId mean = b.Reduce("mean", x, axes, true);
  const ValueId off = b.Minus(x, mean);
  const ValueId variance = b.Reduce("mean", b.Times(off, off), axes, false);
  return {b.Reshape(mean, {b.Dim(x, 1)}), variance};
}

void BatchNormalization(OpContext& c) {
  Builder& b = c.b;
  const ValueId x = c.In(0);
  const DType type = b.DTypeOf(x);
  if (!CheckRank(c, x, 2)) return;
  const ValueId scale = b.Cast(c.In(1), type);
  const ValueId shift = b.Cast(c.In(2), type);
  ValueId mean = b.Cast(c.In(3), type);
  ValueId variance = b.Cast(c.In(4), type);
  for (const ValueId v : {scale, shift, mean, variance}) {
    if (c.ok() && b.DimsOf(v) != Dims{b.Dim(x, 1)}) {
      return c.Fail("statistics must have one entry a channel");
    }
  }
  if (c.Flag("training_mode", false)) {
    const Statistics own = StatisticsOf(b, x);
    const double momentum = c.Float("momentum", 0.9);
    const auto blended = [&](ValueId old, ValueId now) {
      return b.Plus(b.TimesNumber(old, momentum), b.TimesNumber(now, 1 - momentum));
    };
    c.Out(blended(mean, own.mean), 1);
    c.Out(blended(variance, own.variance), 2);
    mean = own.mean;
    variance = own.variance;
  }
  const ValueId deviation =
      b.Apply(ScalarOp::kSqrt, {b.PlusNumber(variance, c.Float("epsilon", 1e-5))});
  const ValueId factor = b.Over(scale, deviation);
  const ValueId offset = b.Minus(shift, b.Times(mean, factor));
  const int rank = b.RankOf(x);
  c.Out(b.Plus(b.Times(x, PerChannel(b, factor, rank)), PerChannel(b, offset, rank)));
}

void InstanceNormalization(OpContext& c) {
  Builder& b = c.b;
  const ValueId x = c.In(0);
  if (!CheckRank(c, x, 3)) return;
  const Dims dims = b.DimsOf(x);
  int64_t area = 1;
  for (size_t i = 2; i < dims.size(); ++i) area *= dims[i];
  const ValueId rows = b.Reshape(x, {dims[0], dims[1], area});
  const ValueId normal = b.Reshape(LayerNorm(b, {rows}, 2, c.Float("epsilon", 1e-5)), dims);
  const ValueId scale = PerChannel(b, c.In(1), b.RankOf(x));
  c.Out(b.Plus(b.Times(normal, scale), PerChannel(b, c.In(2), b.RankOf(x))));
}

// Before version 21 scale and bias had one entry a group, since then one a channel.
void GroupNormalization(OpContext& c) {
  Builder& b = c.b;
  const ValueId x = c.In(0);
  ValueId scale = c.In(1);
  ValueId bias = c.In(2);
  const int64_t groups = c.RequiredInt("num_groups");
  if (!CheckRank(c, x, 2)) return;
  const Dims dims = b.DimsOf(x);
  if (groups < 1 || dims[1] % groups != 0) return c.Fail("num_groups does not divide the channels");
  int64_t area = dims[1] / groups;
  for (size_t i = 2; i < dims.size(); ++i) area *= dims[i];
  const ValueId rows = b.Reshape(x, {dims[0], groups, area});
  ValueId normal = LayerNorm(b, {rows}, 2, c.Float("epsilon", 1e-5));
  if (c.opset() < 21) {
    normal = b.Times(normal, b.Reshape(scale, {groups, 1}));
    return c.Out(b.Reshape(b.Plus(normal, b.Reshape(bias, {groups, 1})), dims));
  }
  scale = PerChannel(b, scale, b.RankOf(x));
  bias = PerChannel(b, bias, b.RankOf(x));
  c.Out(b.Plus(b.Times(b.Reshape(normal, dims), scale), bias));
}

void LayerNormalization(OpContext& c) {
  Builder& b = c.b;
  const ValueId x = c.In(0);
  const ValueId scale = c.In(1);
  const int64_t axis = Axis(c, c.Int("axis", -1), b.RankOf(x));
  if (!c.ok()) return;
  const double epsilon = c.Float("epsilon", 1e-5);
  std::vector<ValueId> operands = {x, scale};
  if (c.Has(2)) operands.push_back(c.In(2));
  c.Out(LayerNorm(b, operands, axis, epsilon));
  if (!c.IsOutputUsed(1) && !c.IsOutputUsed(2)) return;
  const ValueId wide = b.Cast(x, DType::kF32);
  const Dims axes = AxesFrom(axis, b.RankOf(x));
  const ValueId mean = b.Reduce("mean", wide, axes, true);
  const ValueId off = b.Minus(wide, mean);
  const ValueId variance = b.Reduce("mean", b.Times(off, off), axes, true);
  c.Out(mean, 1);
  c.Out(b.Apply(ScalarOp::kRsqrt, {b.PlusNumber(variance, epsilon)}), 2);
}

void RmsNormalization(OpContext& c) {
  Builder& b = c.b;
  const ValueId x = c.In(0);
  const ValueId scale = c.In(1);
  const int64_t axis = Axis(c, c.Int("axis", -1), b.RankOf(x));
  if (!c.ok()) return;
  const double epsilon = c.Float("epsilon", 1e-5);
  c.Out(RmsNorm(b, x, scale, axis, epsilon));
  if (!c.IsOutputUsed(1)) return;
  const ValueId wide = b.Cast(x, DType::kF32);
  const ValueId square = b.Reduce("mean", b.Times(wide, wide), AxesFrom(axis, b.RankOf(x)), true);
  c.Out(b.Apply(ScalarOp::kRsqrt, {b.PlusNumber(square, epsilon)}), 1);
}

void LpNormalization(OpContext& c) {
  Builder& b = c.b;
  const ValueId x = c.In(0);
  const int64_t axis = Axis(c, c.Int("axis", -1), b.RankOf(x));
  const int64_t p = c.Int("p", 2);
  if (!c.ok()) return;
  if (p != 1 && p != 2) return c.Fail("p must be 1 or 2");
  const ValueId norm = b.Reduce(p == 1 ? "l1" : "l2", x, {axis}, true);
  const ValueId zero = b.ScalarLike(x, 0);
  const ValueId empty = b.Apply(ScalarOp::kEqual, {norm, zero});
  c.Out(b.Select(empty, zero, b.Over(x, norm)));
}

void MeanVarianceNormalization(OpContext& c) {
  Builder& b = c.b;
  const ValueId x = c.In(0);
  Dims axes = Axes(c, c.Ints("axes", {0, 2, 3}), b.RankOf(x));
  std::sort(axes.begin(), axes.end());
  if (!c.ok()) return;
  const ValueId off = b.Minus(x, b.Reduce("mean", x, axes, true));
  const ValueId variance = b.Reduce("mean", b.Times(off, off), axes, true);
  c.Out(b.Over(off, b.PlusNumber(b.Apply(ScalarOp::kSqrt, {variance}), 1e-9)));
}

// The window runs over channels: a pool over [N, 1, C, area].
void Lrn(OpContext& c) {
  Builder& b = c.b;
  const ValueId x = c.In(0);
  const int64_t size = c.RequiredInt("size");
  if (!CheckRank(c, x, 2)) return;
  if (size < 1 || size > (1 << 16)) return c.Fail("size must be positive");
  const Dims dims = b.DimsOf(x);
  int64_t area = 1;
  for (size_t i = 2; i < dims.size(); ++i) area *= dims[i];
  Value pool;
  pool.op = Op::kPool;
  pool.operands = {b.Reshape(b.Times(x, x), {dims[0], 1, dims[1], area})};
  pool.attrs["kind"] = std::string("avg");
  pool.attrs["kernel"] = Dims{size, 1};
  pool.attrs["pads"] = Dims{(size - 1) / 2, 0, size - 1 - (size - 1) / 2, 0};
  pool.attrs["count_include_pad"] = int64_t{1};
  const ValueId mean = b.Reshape(b.Add(std::move(pool)), dims);
  const ValueId base =
      b.PlusNumber(b.TimesNumber(mean, c.Float("alpha", 1e-4)), c.Float("bias", 1.0));
  c.Out(b.Over(x, b.Apply(ScalarOp::kPow, {base, b.ScalarLike(x, c.Float("beta", 0.75))})));
}

constexpr OpRow kNormalizationRows[] = {
    {"BatchNormalization", BatchNormalization, 5, 5},
    {"GroupNormalization", GroupNormalization, 3, 1},
    {"InstanceNormalization", InstanceNormalization, 3, 1},
    {"LRN", Lrn, 1, 1},
    {"LayerNormalization", LayerNormalization, 3, 3},
    {"LpNormalization", LpNormalization, 1, 1},
    {"MeanVarianceNormalization", MeanVarianceNormalization, 1, 1},
    {"RMSNormalization", RmsNormalization, 2, 1},
    // ONNX Runtime's optimizer writes it in the default domain.
    {"SimplifiedLayerNormalization", RmsNormalization, 2, 2},
};

}  // namespace

std::span<const OpRow> NormalizationOps() { return kNormalizationRows; }

}  // namespace mlc::graph::onnx
