// Pad, and CenterCropPad, which crops and pads around the middle.
#include <algorithm>

#include "compiler/graph/onnx/axes.h"
#include "compiler/graph/onnx/tables.h"

namespace mlc::graph::onnx {
namespace {

constexpr int64_t kMaxPad = int64_t{1} << 31;

bool InRange(OpContext& c, const Dims& pads) {
  for (const int64_t pad : pads) {
    if (pad < -kMaxPad || pad > kMaxPad) {
      c.Fail("a pad is out of range");
      return false;
    }
  }
  return true;
}

// Pads of all dimensions, begins then ends, from the ones of `axes`.
Dims SpreadPads(const Dims& pads, const Dims& axes, size_t rank) {
  Dims all(2 * rank, 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    all[static_cast<size_t>(axes[i])] = pads[i];
    all[static_cast<size_t>(axes[i]) + rank] = pads[i + axes.size()];
  }
  return all;
}

// A fill that is known only at run time: pad a mask of ones with zeros and choose by it.
ValueId PadWithValue(OpContext& c, ValueId x, const Dims& pads, ValueId fill) {
  Builder& b = c.b;
  const ValueId ones = b.Expand(b.Scalar(DType::kBool, 1), b.DimsOf(x));
  return b.Select(b.Pad(ones, pads, 0), b.Pad(x, pads, 0), b.Reshape(fill, {}));
}

void Pad(OpContext& c) {
  Builder& b = c.b;
  const ValueId x = c.In(0);
  const size_t rank = static_cast<size_t>(b.RankOf(x));
  const bool attrs = c.opset() < 11;
  Dims pads = attrs ? c.Ints(c.HasAttr("pads") ? "pads" : "paddings") : c.IntsIn(1);
  if (c.Has(3)) {
    const Dims axes = Axes(c, c.IntsIn(3), b.RankOf(x));
    if (!c.ok()) return;
    if (pads.size() != 2 * axes.size()) return c.Fail("pads must have two entries per axis");
    pads = SpreadPads(pads, axes, rank);
  }
  if (!c.ok()) return;
  if (pads.size() != 2 * rank) return c.Fail("pads must have two entries per dimension");
  if (!InRange(c, pads)) return;
  const std::string mode = c.Text("mode", "constant");
  if (mode != "constant" && mode != "reflect" && mode != "edge" && mode != "wrap") {
    return c.Fail("the mode must be constant, reflect, edge or wrap");
  }
  double fill = attrs ? c.Float("value", 0) : 0;
  if (!attrs && mode == "constant" && c.Has(2)) {
    if (!b.IsConstant(c.In(2))) return c.Out(PadWithValue(c, x, pads, c.In(2)));
    const std::vector<double> values = b.Floats(c.In(2), "operand 2");
    if (c.ok() && values.size() != 1) return c.Fail("the fill must be a scalar");
    if (c.ok()) fill = values[0];
  }
  c.Out(b.Pad(x, pads, fill, mode));
}

void CenterCropPad(OpContext& c) {
  const ValueId x = c.In(0);
  const int64_t rank = c.b.RankOf(x);
  const Dims sizes = c.IntsIn(1);
  Dims axes;
  for (int64_t i = 0; i < rank; ++i) axes.push_back(i);
  axes = Axes(c, c.Ints("axes", axes), rank);
  if (!c.ok()) return;
  if (sizes.size() != axes.size()) return c.Fail("the shape must have one entry per axis");
  if (!InRange(c, sizes)) return;
  Dims pads(2 * axes.size(), 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t missing = sizes[i] - c.b.Dim(x, axes[i]);
    // Halves round down where it pads and where it crops.
    const int64_t before = missing >= 0 ? missing / 2 : -(-missing / 2);
    pads[i] = before;
    pads[i + axes.size()] = missing - before;
  }
  c.Out(c.b.Pad(x, SpreadPads(pads, axes, static_cast<size_t>(rank)), 0));
}

constexpr OpRow kPadRows[] = {{"CenterCropPad", CenterCropPad, 2, 1}, {"Pad", Pad, 4, 1}};

}  // namespace

std::span<const OpRow> PadOps() { return kPadRows; }

}  // namespace mlc::graph::onnx
