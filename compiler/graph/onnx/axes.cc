#include "compiler/graph/onnx/axes.h"

#include <string>
#include <vector>

namespace mlc::graph::onnx {

int64_t Axis(OpContext& c, int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank) {
    c.Fail("axis " + std::to_string(axis) + " is out of range for rank " + std::to_string(rank));
    return 0;
  }
  return axis < 0 ? axis + rank : axis;
}

Dims Axes(OpContext& c, Dims axes, int64_t rank) {
  std::vector<bool> seen(static_cast<size_t>(rank), false);
  for (int64_t& axis : axes) {
    axis = Axis(c, axis, rank);
    if (!c.ok()) return {};
    if (seen[static_cast<size_t>(axis)]) {
      c.Fail("axis " + std::to_string(axis) + " is given twice");
      return {};
    }
    seen[static_cast<size_t>(axis)] = true;
  }
  return axes;
}

std::optional<Dims> AxesOperandOrAttr(OpContext& c, int i) {
  if (c.Has(i)) return c.IntsIn(i);
  if (c.HasAttr("axes")) return c.Ints("axes");
  return std::nullopt;
}

}  // namespace mlc::graph::onnx
