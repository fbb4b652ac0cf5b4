// Slice: starts and ends are clamped to the dimension as the standard says, without overflow.
#include <algorithm>

#include "compiler/graph/onnx/ops/tables.h"

namespace mlc::graph::onnx {
namespace {

struct Range {
  int64_t start;
  int64_t size;
};

Range ClampRange(int64_t start, int64_t end, int64_t step, int64_t dim) {
  const auto clamp = [&](int64_t at, int64_t low, int64_t high) {
    if (at < 0) at = at < -dim ? low : std::max(at + dim, low);
    return std::min(at, high);
  };
  if (step > 0) {
    start = clamp(start, 0, dim);
    end = clamp(end, 0, dim);
    return {start, end <= start ? 0 : (end - start - 1) / step + 1};
  }
  start = clamp(start, -1, dim - 1);
  end = clamp(end, -1, dim - 1);
  // -(step + 1) cannot overflow where -step could.
  const uint64_t stride = static_cast<uint64_t>(-(step + 1)) + 1;
  if (start <= end) return {std::max<int64_t>(start, 0), 0};
  return {start, static_cast<int64_t>(static_cast<uint64_t>(start - end - 1) / stride) + 1};
}

void Slice(OpContext& c) {
  Builder& b = c.b;
  const ValueId x = c.In(0);
  const bool attrs = c.opset() < 10;
  const Dims begin = attrs ? c.Ints("starts") : c.IntsIn(1);
  const Dims end = attrs ? c.Ints("ends") : c.IntsIn(2);
  Dims axes;
  if (c.Has(3) || (attrs && c.HasAttr("axes"))) {
    axes = attrs ? c.Ints("axes") : c.IntsIn(3);
  } else {
    for (size_t i = 0; i < begin.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  }
  const Dims step = c.Has(4) ? c.IntsIn(4) : Dims(begin.size(), 1);
  if (!c.ok()) return;
  if (end.size() != begin.size() || axes.size() != begin.size() || step.size() != begin.size()) {
    return c.Fail("starts, ends, axes and steps must be equally long");
  }
  axes = c.Axes(axes, b.RankOf(x));
  if (!c.ok()) return;
  Dims starts(b.DimsOf(x).size(), 0);
  Dims steps(starts.size(), 1);
  Dims sizes = b.DimsOf(x);
  for (size_t i = 0; i < axes.size(); ++i) {
    const size_t axis = static_cast<size_t>(axes[i]);
    if (step[i] == 0) return c.Fail("a step is zero");
    const Range range = ClampRange(begin[i], end[i], step[i], sizes[axis]);
    starts[axis] = range.size == 0 ? 0 : range.start;
    // A step past the only element chosen says nothing more.
    steps[axis] = range.size <= 1 ? 1 : step[i];
    sizes[axis] = range.size;
  }
  c.Out(b.Slice(x, starts, steps, sizes));
}

constexpr OpRow kRows[] = {{"Slice", Slice}};

}  // namespace

std::span<const OpRow> SliceOps() { return kRows; }

}  // namespace mlc::graph::onnx
