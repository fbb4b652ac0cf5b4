// Joining values along an axis and cutting them apart.
#include "compiler/graph/onnx/axes.h"
#include "compiler/graph/onnx/tables.h"

namespace mlc::graph::onnx {
namespace {

void Concat(OpContext& c) {
  if (c.OperandCount() == 0) return c.Fail("there is nothing to concatenate");
  std::vector<ValueId> parts;
  for (int i = 0; i < c.OperandCount(); ++i) parts.push_back(c.In(i));
  if (!c.ok()) return;
  const int64_t rank = c.b.RankOf(parts[0]);
  for (const ValueId part : parts) {
    if (c.b.RankOf(part) != rank) return c.Fail("operands have different ranks");
  }
  if (c.opset() >= 4 && !c.HasAttr("axis")) return c.Fail("attribute 'axis' is missing");
  const int64_t axis = Axis(c, c.Int("axis", 1), rank);
  if (!c.ok()) return;
  c.Out(c.b.Concat(parts, axis));
}

// Equal parts; the last one may be smaller.
Dims EqualParts(OpContext& c, int64_t dim) {
  const int64_t count = c.Int("num_outputs", c.OutputCount());
  if (count != c.OutputCount() || count < 1) {
    c.Fail("num_outputs differs from the number of results");
    return {};
  }
  const int64_t part = (dim + count - 1) / count;
  Dims sizes;
  for (int64_t i = 0; i < count; ++i) {
    sizes.push_back(std::max<int64_t>(std::min(part, dim - i * part), 0));
  }
  if (c.opset() < 18 && dim % count != 0) c.Fail("the dimension cannot be split equally");
  return sizes;
}

void Split(OpContext& c) {
  const ValueId x = c.In(0);
  const int64_t axis = Axis(c, c.Int("axis", 0), c.b.RankOf(x));
  if (!c.ok()) return;
  const int64_t dim = c.b.Dim(x, axis);
  Dims sizes;
  if (c.Has(1)) {
    sizes = c.IntsIn(1);
  } else if (c.opset() < 13 && c.HasAttr("split")) {
    sizes = c.Ints("split");
  } else {
    sizes = EqualParts(c, dim);
  }
  if (!c.ok()) return;
  if (sizes.size() != static_cast<size_t>(c.OutputCount())) {
    return c.Fail("split sizes differ from the number of results");
  }
  int64_t start = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 0 || sizes[i] > dim - start) return c.Fail("split sizes do not fit");
    c.Out(c.b.SliceAxis(x, axis, start, sizes[i]), static_cast<int>(i));
    start += sizes[i];
  }
  if (start != dim) c.Fail("split sizes do not add up to the dimension");
}

constexpr OpRow kConcatSplitRows[] = {{"Concat", Concat, kVariadic, 1},
                                      {"Split", Split, 2, kVariadic}};

}  // namespace

std::span<const OpRow> ConcatSplitOps() { return kConcatSplitRows; }

}  // namespace mlc::graph::onnx
