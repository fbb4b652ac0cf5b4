#include "compiler/graph/onnx/ops/resize_matrix.h"

#include <algorithm>
#include <cmath>

namespace mlc::graph::onnx {
namespace {

// Where output index `i` lies in the operand.
double Source(const ResizeForm& form, const ResizeAxis& axis, double i) {
  const double in = static_cast<double>(axis.in);
  const double out = static_cast<double>(axis.out);
  const std::string& mode = form.coordinate_mode;
  if (mode == "asymmetric") return i / axis.scale;
  if (mode == "align_corners") return axis.out == 1 ? 0 : i * (in - 1) / (out - 1);
  if (mode == "pytorch_half_pixel") return axis.out == 1 ? 0 : (i + 0.5) / axis.scale - 0.5;
  if (mode == "tf_half_pixel_for_nn") return (i + 0.5) / axis.scale;
  if (mode == "tf_crop_and_resize") {
    const double begin = axis.roi_begin * (in - 1);
    const double end = axis.roi_end * (in - 1);
    return axis.out == 1 ? (begin + end) / 2 : begin + i * (end - begin) / (out - 1);
  }
  if (mode == "half_pixel_symmetric") {
    const double adjustment = out / (axis.scale * in);
    return in / 2 * (1 - adjustment) + (i + 0.5) / axis.scale - 0.5;
  }
  return (i + 0.5) / axis.scale - 0.5;
}

int64_t Nearest(const std::string& mode, double x) {
  if (mode == "floor") return static_cast<int64_t>(std::floor(x));
  if (mode == "ceil") return static_cast<int64_t>(std::ceil(x));
  if (mode == "round_prefer_ceil") return static_cast<int64_t>(std::floor(x + 0.5));
  return static_cast<int64_t>(std::ceil(x - 0.5));
}

// The filter at distance `x`: a triangle, or Keys' cubic.
double Filter(const ResizeForm& form, double x) {
  const double a = form.cubic_coeff_a;
  x = std::abs(x);
  if (form.mode == "linear") return std::max(1 - x, 0.0);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

void FillRow(const ResizeForm& form, const ResizeAxis& axis, double x, double* row) {
  const auto clamped = [&](int64_t at) { return std::clamp<int64_t>(at, 0, axis.in - 1); };
  if (form.mode == "nearest") {
    row[clamped(Nearest(form.nearest_mode, x))] = 1;
    return;
  }
  const double shrink = form.antialias ? std::min(axis.scale, 1.0) : 1.0;
  const double reach = (form.mode == "linear" ? 1 : 2) / shrink;
  const int64_t first = static_cast<int64_t>(std::floor(x - reach));
  const int64_t last = static_cast<int64_t>(std::ceil(x + reach));
  double sum = 0;
  for (int64_t at = first; at <= last; ++at) {
    const bool outside = at < 0 || at >= axis.in;
    if (outside && form.exclude_outside) continue;
    const double weight = Filter(form, (x - static_cast<double>(at)) * shrink);
    row[clamped(at)] += weight;
    sum += weight;
  }
  for (int64_t i = 0; i < axis.in && sum != 0; ++i) row[i] /= sum;
}

}  // namespace

ResizeMatrix MakeResizeMatrix(const ResizeForm& form, const ResizeAxis& axis) {
  ResizeMatrix matrix;
  matrix.weights.assign(static_cast<size_t>(axis.out * axis.in), 0.0);
  matrix.inside.assign(static_cast<size_t>(axis.out), 1.0);
  const bool crops = form.coordinate_mode == "tf_crop_and_resize";
  for (int64_t i = 0; i < axis.out; ++i) {
    const double x = Source(form, axis, static_cast<double>(i));
    if (crops && (x < 0 || x > static_cast<double>(axis.in - 1))) {
      matrix.inside[static_cast<size_t>(i)] = 0;
    } else {
      FillRow(form, axis, x, matrix.weights.data() + i * axis.in);
    }
  }
  return matrix;
}

}  // namespace mlc::graph::onnx
