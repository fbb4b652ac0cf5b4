#include "compiler/graph/onnx/ops/window.h"

#include <algorithm>

namespace mlc::graph::onnx {
namespace {

constexpr int64_t kMaxWindow = int64_t{1} << 20;

bool Within(OpContext& c, const char* what, const Dims& values, size_t count, int64_t low) {
  if (values.size() != count) {
    c.Fail(std::string(what) + " must have " + std::to_string(count) + " entries");
    return false;
  }
  for (const int64_t value : values) {
    if (value < low || value > kMaxWindow) {
      c.Fail(std::string(what) + " has the entry " + std::to_string(value) + ", out of range");
      return false;
    }
  }
  return true;
}

}  // namespace

Window ReadWindow(OpContext& c, ValueId x, Dims kernel) {
  Window window;
  if (!c.ok()) return window;
  if (c.b.RankOf(x) < 3) {
    c.Fail("operand 0 must have rank 3 or more");
    return window;
  }
  const size_t rank = static_cast<size_t>(c.b.RankOf(x)) - 2;
  window.kernel = std::move(kernel);
  window.strides = c.Ints("strides", Dims(rank, 1));
  window.dilations = c.Ints("dilations", Dims(rank, 1));
  window.pads = c.Ints("pads", Dims(2 * rank, 0));
  if (!c.ok() || !Within(c, "kernel_shape", window.kernel, rank, 1) ||
      !Within(c, "strides", window.strides, rank, 1) ||
      !Within(c, "dilations", window.dilations, rank, 1) ||
      !Within(c, "pads", window.pads, 2 * rank, 0)) {
    return window;
  }
  const std::string mode = c.Text("auto_pad", "NOTSET");
  if (mode == "NOTSET") return window;
  if (mode != "VALID" && mode != "SAME_UPPER" && mode != "SAME_LOWER") {
    c.Fail("auto_pad must be NOTSET, VALID, SAME_UPPER or SAME_LOWER");
    return window;
  }
  for (size_t i = 0; i < rank; ++i) {
    int64_t total = 0;
    if (mode != "VALID") {
      const int64_t in = c.b.Dim(x, static_cast<int64_t>(i) + 2);
      const int64_t out = (in + window.strides[i] - 1) / window.strides[i];
      total = std::max<int64_t>((out - 1) * window.strides[i] + window.Reach(i) - in, 0);
    }
    const int64_t small = total / 2;
    window.pads[i] = mode == "SAME_LOWER" ? total - small : small;
    window.pads[i + rank] = total - window.pads[i];
  }
  return window;
}

void SetWindow(const Window& window, Value& node) {
  node.attrs["strides"] = window.strides;
  node.attrs["dilations"] = window.dilations;
  node.attrs["pads"] = window.pads;
}

}  // namespace mlc::graph::onnx
