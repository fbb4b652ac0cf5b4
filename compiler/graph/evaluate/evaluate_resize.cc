// Resize: separable, so one pass per dimension with a few taps per output index.
#include <algorithm>
#include <cmath>
#include <string>

#include "compiler/graph/evaluate/evaluate_internal.h"
#include "compiler/graph/tensor_io.h"

namespace mlc::graph::evaluate_internal {

namespace {

struct Tap {
  int64_t index;
  double weight;
};

struct Axis {
  int64_t in = 1, out = 1;
  double scale = 1;
};

// The source coordinate of output index i.
double Coordinate(const std::string& mode, const Axis& axis, int64_t i) {
  const auto x = static_cast<double>(i);
  const auto in = static_cast<double>(axis.in), out = static_cast<double>(axis.out);
  if (mode == "asymmetric") return x / axis.scale;
  if (mode == "align_corners") return axis.out == 1 ? 0 : x * (in - 1) / (out - 1);
  if (mode == "pytorch_half_pixel" && axis.out == 1) return 0;
  if (mode == "half_pixel_symmetric") {
    const double adjustment = out / (axis.scale * in);
    return in / 2 * (1 - adjustment) + (x + 0.5) / axis.scale - 0.5;
  }
  return (x + 0.5) / axis.scale - 0.5;
}

double Nearest(const std::string& mode, double x) {
  if (mode == "floor") return std::floor(x);
  if (mode == "ceil") return std::ceil(x);
  if (mode == "round_prefer_floor") return std::ceil(x - 0.5);
  return std::floor(x + 0.5);
}

// Keys' cubic convolution kernel at distance x with parameter a.
double Cubic(double x, double a) {
  x = std::abs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

std::vector<Tap> TapsAt(const Value& node, const Axis& axis, int64_t i) {
  const double x = Coordinate(node.Word("coordinate_mode"), axis, i);
  const std::string& mode = node.Word("mode");
  std::vector<Tap> taps;
  if (mode == "nearest") {
    taps.push_back({static_cast<int64_t>(Nearest(node.Word("nearest_mode"), x)), 1.0});
  } else {
    const int64_t reach = mode == "cubic" ? 2 : 1;
    const auto base = static_cast<int64_t>(std::floor(x));
    for (int64_t at = base - reach + 1; at <= base + reach; ++at) {
      const double distance = x - static_cast<double>(at);
      taps.push_back({at, mode == "cubic" ? Cubic(distance, node.Float("cubic_coeff_a"))
                                          : 1 - std::abs(distance)});
    }
  }
  double sum = 0;
  for (Tap& tap : taps) {
    const bool outside = tap.index < 0 || tap.index >= axis.in;
    if (outside && mode != "nearest" && node.Int("exclude_outside") != 0) tap.weight = 0;
    tap.index = std::clamp<int64_t>(tap.index, 0, axis.in - 1);
    sum += tap.weight;
  }
  if (node.Int("exclude_outside") != 0 && sum != 0) {
    for (Tap& tap : taps) tap.weight /= sum;
  }
  return taps;
}

std::vector<double> ResizeAxis(const Value& node, const Axis& axis, int64_t outer, int64_t inner,
                               const std::vector<double>& from) {
  std::vector<double> to(static_cast<size_t>(outer * axis.out * inner), 0.0);
  for (int64_t i = 0; i < axis.out; ++i) {
    const std::vector<Tap> taps = TapsAt(node, axis, i);
    for (int64_t o = 0; o < outer; ++o) {
      double* target = to.data() + (o * axis.out + i) * inner;
      for (const Tap& tap : taps) {
        if (tap.weight == 0) continue;  // keeps an infinity outside the window out
        const double* source = from.data() + (o * axis.in + tap.index) * inner;
        for (int64_t j = 0; j < inner; ++j) target[j] += tap.weight * source[j];
      }
    }
  }
  return to;
}

}  // namespace

Result<TensorDataRef> EvaluateResize(const Value& node, Operands operands) {
  const auto& scales = std::get<std::vector<double>>(node.attrs.find("scales")->second);
  std::vector<int64_t> dims = operands[0]->dims;
  std::vector<double> values = ReadDoubles(*operands[0]);
  for (size_t d = 0; d < dims.size(); ++d) {
    const Axis axis{dims[d], node.type.dims[d], scales[d]};
    if (axis.in == axis.out && axis.scale == 1) continue;
    const std::span<const int64_t> all(dims);
    values = ResizeAxis(node, axis, CountOf(all.first(d)), CountOf(all.subspan(d + 1)), values);
    dims[d] = axis.out;
  }
  return WriteDoubles(node.type.dtype, node.type.dims, values);
}

}  // namespace mlc::graph::evaluate_internal
