// Slice: starts and ends are clamped to the dimension as the standard says, without overflow.
#include <algorithm>
#include <numeric>

#include "compiler/graph/onnx/axes.h"
#include "compiler/graph/onnx/tables.h"

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

// Before version 10 the operands were attributes.
bool HasOperand(OpContext& c, const char* name, int i) {
  return c.opset() < 10 ? c.HasAttr(name) : c.Has(i);
}

Dims Operand(OpContext& c, const char* name, int i) {
  if (!HasOperand(c, name, i)) {
    if (i < 3) c.Fail(std::string(name) + " are missing");
    return {};
  }
  return c.opset() < 10 ? c.Ints(name) : c.IntsIn(i);
}

void Slice(OpContext& c) {
  Builder& b = c.b;
  const ValueId x = c.In(0);
  const Dims begin = Operand(c, "starts", 1);
  const Dims end = Operand(c, "ends", 2);
  Dims axes = Operand(c, "axes", 3);
  Dims step = Operand(c, "steps", 4);
  if (!HasOperand(c, "axes", 3)) {
    axes.assign(begin.size(), 0);
    std::iota(axes.begin(), axes.end(), 0);
  }
  if (!HasOperand(c, "steps", 4)) step.assign(begin.size(), 1);
  if (!c.ok()) return;
  if (end.size() != begin.size() || axes.size() != begin.size() || step.size() != begin.size()) {
    return c.Fail("starts, ends, axes and steps must be equally long");
  }
  axes = Axes(c, axes, b.RankOf(x));
  if (!c.ok()) return;
  Dims starts(b.DimsOf(x).size(), 0);
  Dims steps = starts;
  std::fill(steps.begin(), steps.end(), 1);
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

constexpr OpRow kSliceRows[] = {{"Slice", Slice, 5, 1}};

}  // namespace

std::span<const OpRow> SliceOps() { return kSliceRows; }

}  // namespace mlc::graph::onnx
