// Normalisations as ONNX Runtime's tools fuse them with what is around them (domain com.microsoft).
#include "compiler/graph/onnx/ops/channels.h"
#include "compiler/graph/onnx/ops/fused.h"
#include "compiler/graph/onnx/ops/norms.h"
#include "compiler/graph/onnx/tables.h"

namespace mlc::graph::onnx {
namespace {

// The sum of an operand, what skips past it and a bias, which is a result too.
ValueId SkipSum(OpContext& c, int bias) {
  ValueId sum = c.b.Plus(c.In(0), c.In(1));
  if (c.Has(bias)) sum = c.b.Plus(sum, c.In(bias));
  if (c.ok() && c.b.RankOf(sum) < 1) c.Fail("operand 0 must have rank 1 or more");
  c.Out(sum, 3);
  return sum;
}

// One over the deviation of each row of `off`, which is a row less its mean, or the row itself.
ValueId InverseDeviation(Builder& b, ValueId off, double epsilon) {
  const ValueId square = b.Reduce("mean", b.Times(off, off), {b.RankOf(off) - 1}, true);
  return b.Apply(ScalarOp::kRsqrt, {b.PlusNumber(square, epsilon)});
}

void SkipLayerNormalization(OpContext& c) {
  Builder& b = c.b;
  const ValueId sum = SkipSum(c, 4);
  std::vector<ValueId> operands = {sum, c.In(2)};
  if (c.Has(3)) operands.push_back(c.In(3));
  if (!c.ok()) return;
  const int64_t last = b.RankOf(sum) - 1;
  const double epsilon = c.Float("epsilon", 1e-12);
  c.Out(LayerNorm(b, operands, last, epsilon));
  if (!c.IsOutputUsed(1) && !c.IsOutputUsed(2)) return;
  const ValueId wide = b.Cast(sum, DType::kF32);
  const ValueId mean = b.Reduce("mean", wide, {last}, true);
  c.Out(mean, 1);
  c.Out(InverseDeviation(b, b.Minus(wide, mean), epsilon), 2);
}

void SkipSimplifiedLayerNormalization(OpContext& c) {
  Builder& b = c.b;
  const ValueId sum = SkipSum(c, 3);
  const ValueId scale = c.In(2);
  if (!c.ok()) return;
  const double epsilon = c.Float("epsilon", 1e-12);
  c.Out(RmsNorm(b, sum, scale, b.RankOf(sum) - 1, epsilon));
  if (c.IsOutputUsed(2)) c.Out(InverseDeviation(b, b.Cast(sum, DType::kF32), epsilon), 2);
}

void SimplifiedLayerNormalization(OpContext& c) { Standard(c, "SimplifiedLayerNormalization"); }

// Over the root mean square of each C elements of a row, times a gate's activation.
void GatedRmsNorm(OpContext& c) {
  Builder& b = c.b;
  const ValueId x = c.In(0);
  const ValueId gate = b.Cast(c.In(2), DType::kF32);
  const std::string activation = c.Text("activation", "silu");
  const int64_t size = b.Dim(c.In(1), 0);
  const Dims dims = b.DimsOf(x);
  if (!c.ok()) return;
  if (activation != "silu" && activation != "swish" && activation != "sigmoid") {
    return c.Unsupported("activation " + Quote(activation));
  }
  if (dims.empty() || size < 1 || dims.back() % size != 0 || b.DimsOf(gate) != dims) {
    return c.Fail(
        "the scale must divide the last dimension, and the gate have the operand's shape");
  }
  Dims split = dims;
  split.back() /= size;
  split.push_back(size);
  const ValueId rows = b.Reshape(b.Cast(x, DType::kF32), split);
  const ValueId normal = RmsNorm(b, rows, b.Cast(c.In(1), DType::kF32),
                                 static_cast<int64_t>(dims.size()), c.Float("epsilon", 1e-6));
  ValueId weight = b.Apply(ScalarOp::kSigmoid, {gate});
  if (activation != "sigmoid") weight = b.Times(gate, weight);
  c.Out(b.Cast(b.Times(b.Reshape(normal, dims), weight), b.DTypeOf(x)));
}

// Of channels first: x in groups of channels, each with mean 0 and deviation 1, scaled and shifted.
void OutGroupNorm(OpContext& c, ValueId x) {
  Builder& b = c.b;
  const int64_t groups = c.RequiredInt("groups");
  const int64_t activation = c.RequiredInt("activation");
  const bool is_last = c.Flag("channels_last", true);
  if (!c.ok()) return;
  if (b.RankOf(x) < 3) return c.Fail("operand 0 must have rank 3 or more");
  if (activation != 0 && activation != 1) return c.Fail("the activation must be 0 or 1");
  const ValueId first = is_last ? ChannelsSecond(b, x) : x;
  const Dims dims = b.DimsOf(first);
  if (!c.ok()) return;
  if (groups < 1 || dims[1] % groups != 0) return c.Fail("groups does not divide the channels");
  int64_t area = dims[1] / groups;
  for (size_t i = 2; i < dims.size(); ++i) area *= dims[i];
  const ValueId rows = b.Reshape(first, {dims[0], groups, area});
  const ValueId normal = LayerNorm(b, {rows}, 2, c.Float("epsilon", 1e-5));
  Dims channels(dims.size() - 1, 1);
  channels[0] = dims[1];
  const auto parameter = [&](int i) {
    const ValueId value = b.Cast(c.In(i), b.DTypeOf(x));
    if (c.ok() && b.DimsOf(value) != Dims{dims[1]}) {
      c.Fail("scale and shift must have one entry a channel");
    }
    return c.ok() ? b.Reshape(value, channels) : kNoValue;
  };
  ValueId y = b.Plus(b.Times(b.Reshape(normal, dims), parameter(1)), parameter(2));
  if (activation == 1) y = b.Times(y, b.Apply(ScalarOp::kSigmoid, {y}));
  c.Out(is_last ? ChannelsLast(b, y) : y);
}

void GroupNorm(OpContext& c) { OutGroupNorm(c, c.In(0)); }

// Operands: x, scale, shift, what skips past x, bias. Result 1 is the sum.
void SkipGroupNorm(OpContext& c) {
  Builder& b = c.b;
  const ValueId x = c.In(0);
  ValueId skip = c.In(3);
  if (!c.Flag("channels_last", true)) return c.Unsupported("channels_last=0");
  if (c.ok() && b.RankOf(skip) == 2) {
    Dims dims(b.DimsOf(x).size(), 1);
    if (dims.size() < 2) return c.Fail("operand 0 must have rank 3 or more");
    dims.front() = b.Dim(skip, 0);
    dims.back() = b.Dim(skip, 1);
    skip = b.Reshape(skip, dims);
  }
  ValueId sum = b.Plus(x, skip);
  if (c.Has(4)) sum = b.Plus(sum, c.In(4));
  if (c.ok() && b.DimsOf(sum) != b.DimsOf(x)) return c.Fail("skip and bias do not fit operand 0");
  c.Out(sum, 1);
  OutGroupNorm(c, sum);
}

constexpr OpRow kFusedNormsRows[] = {
    {"GatedRMSNorm", GatedRmsNorm, 3, 1},
    {"GroupNorm", GroupNorm, 3, 1},
    {"SimplifiedLayerNormalization", SimplifiedLayerNormalization, 2, 2},
    {"SkipGroupNorm", SkipGroupNorm, 5, 2, "channels last"},
    {"SkipLayerNormalization", SkipLayerNormalization, 5, 4},
    {"SkipSimplifiedLayerNormalization", SkipSimplifiedLayerNormalization, 4, 4, "no mean"},
};

}  // namespace

std::span<const OpRow> FusedNormOps() { return kFusedNormsRows; }

}  // namespace mlc::graph::onnx
