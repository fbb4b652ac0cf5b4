// Convolutions as ONNX Runtime's optimizer fuses them or moves their channels (domain
// com.microsoft). Channels stand second here, and layouts are chosen later.
#include <algorithm>
#include <optional>

#include "compiler/graph/onnx/ops/channels.h"
#include "compiler/graph/onnx/ops/fused.h"
#include "compiler/graph/onnx/ops/products.h"
#include "compiler/graph/onnx/tables.h"

namespace mlc::graph::onnx {

ValueId ChannelsSecond(Builder& b, ValueId x) {
  const int64_t rank = b.RankOf(x);
  if (b.ok() && rank < 3) return b.Fail("an operand with channels must have rank 3 or more");
  if (!b.ok()) return kNoValue;
  Dims perm = {0, rank - 1};
  for (int64_t i = 1; i < rank - 1; ++i) perm.push_back(i);
  return b.Transpose(x, perm);
}

ValueId ChannelsLast(Builder& b, ValueId x) {
  const int64_t rank = b.RankOf(x);
  if (b.ok() && rank < 3) return b.Fail("an operand with channels must have rank 3 or more");
  if (!b.ok()) return kNoValue;
  Dims perm = {0};
  for (int64_t i = 2; i < rank; ++i) perm.push_back(i);
  perm.push_back(1);
  return b.Transpose(x, perm);
}

namespace {

ValueId ConvActivated(OpContext& c, ValueId y) {
  std::optional<double> parameters[2];
  if (c.HasAttr("activation_params")) {
    const std::vector<double> given = c.Floats("activation_params");
    for (size_t i = 0; i < std::min<size_t>(given.size(), 2); ++i) parameters[i] = given[i];
  }
  return Activated(c, y, c.Text("activation", ""), parameters[0], parameters[1]);
}

// Operands: x, weights, bias, what is added before the activation.
void FusedConv(OpContext& c) {
  ValueId y = Standard(c, "Conv");
  if (c.Has(3)) y = c.b.Plus(y, c.In(3));
  c.Out(ConvActivated(c, y));
}

// The weights with the channels second. Files have them second or last; the operand's channels say
// which, unless both dimensions fit.
ValueId WeightsOf(OpContext& c, ValueId x) {
  Builder& b = c.b;
  const ValueId w = c.In(1);
  const int64_t group = c.Int("group", 1);
  if (c.ok() && (b.RankOf(w) < 3 || b.RankOf(x) != b.RankOf(w))) {
    c.Fail("the operand and the weights must have one rank, 3 or more");
  }
  if (c.ok() && (group < 1 || b.Dim(x, 1) % group != 0))
    c.Fail("group does not divide the channels");
  if (!c.ok()) return kNoValue;
  const int64_t channels = b.Dim(x, 1) / group;
  const bool fits_second = b.Dim(w, 1) == channels;
  const bool fits_last = b.Dim(w, b.RankOf(w) - 1) == channels;
  const Dims& dims = b.DimsOf(w);
  const bool is_point = std::all_of(dims.begin() + 1, dims.end(), [](int64_t d) { return d == 1; });
  if (fits_second && fits_last && !is_point) {
    c.Fail("whether the weights have their channels second or last is ambiguous: use Conv");
    return kNoValue;
  }
  return fits_last && !fits_second ? ChannelsSecond(b, w) : w;
}

void NhwcConv(OpContext& c) {
  const ValueId x = ChannelsSecond(c.b, c.In(0));
  const ValueId y = Convolution(c, x, WeightsOf(c, x));
  c.Out(ChannelsLast(c.b, c.Has(2) ? PlusBias(c, y, c.In(2)) : y));
}

void NhwcFusedConv(OpContext& c) {
  Builder& b = c.b;
  ValueId y = Convolution(c, ChannelsSecond(b, c.In(0)), c.In(1));
  if (c.Has(2)) y = PlusBias(c, y, c.In(2));
  y = ChannelsLast(b, y);
  if (c.Has(3)) y = b.Plus(y, c.In(3));
  c.Out(ConvActivated(c, y));
}

constexpr OpRow kFusedConvRows[] = {
    {"FusedConv", FusedConv, 4, 1},
    {"NhwcConv", NhwcConv, 3, 1, "weights whose channels can be told from their shape"},
    {"NhwcFusedConv", NhwcFusedConv, 4, 1},
};

}  // namespace

std::span<const OpRow> FusedConvOps() { return kFusedConvRows; }

}  // namespace mlc::graph::onnx
