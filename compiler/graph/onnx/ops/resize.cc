// Resize and its ancestors: scales or sizes, of all or of some axes.
#include <algorithm>
#include <cmath>

#include "compiler/graph/onnx/axes.h"
#include "compiler/graph/onnx/ops/resize_matrix.h"
#include "compiler/graph/onnx/tables.h"

namespace mlc::graph::onnx {
namespace {

constexpr int64_t kMaxSize = int64_t{1} << 31;
constexpr int64_t kMaxMatrix = int64_t{1} << 24;

// What is asked of every dimension.
struct Request {
  Dims sizes;
  std::vector<double> scales;
  std::vector<double> roi;  // begins, then ends
};

bool CheckSize(OpContext& c, double size) {
  if (size >= 0 && size < static_cast<double>(kMaxSize)) return true;
  c.Fail("a resized dimension is out of range");
  return false;
}

// Sizes from scales: the whole part of the product in single precision, the scales' own. A scale
// that an exporter got by dividing sizes is a little less than their quotient as often as not.
bool FromScales(OpContext& c, const std::vector<double>& scales, const Dims& axes, ValueId x,
                Request& request) {
  if (scales.size() != axes.size()) {
    c.Fail("scales must have one entry per axis");
    return false;
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    const size_t axis = static_cast<size_t>(axes[i]);
    const float size =
        std::floor(static_cast<float>(scales[i]) * static_cast<float>(c.b.Dim(x, axes[i])));
    if (!(scales[i] > 0)) c.Fail("scales must be positive");
    if (!c.ok() || !CheckSize(c, size)) return false;
    request.scales[axis] = scales[i];
    request.sizes[axis] = static_cast<int64_t>(size);
  }
  return true;
}

bool FromSizes(OpContext& c, const Dims& sizes, const Dims& axes, ValueId x, Request& request) {
  if (sizes.size() != axes.size()) {
    c.Fail("sizes must have one entry per axis");
    return false;
  }
  const std::string policy = c.Text("keep_aspect_ratio_policy", "stretch");
  if (policy != "stretch" && policy != "not_larger" && policy != "not_smaller") {
    c.Fail("keep_aspect_ratio_policy must be stretch, not_larger or not_smaller");
    return false;
  }
  double common = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    const size_t axis = static_cast<size_t>(axes[i]);
    const double in = static_cast<double>(c.b.Dim(x, axes[i]));
    if (in == 0) c.Fail("an empty dimension cannot be resized");
    if (!c.ok() || !CheckSize(c, static_cast<double>(sizes[i]))) return false;
    const double scale = static_cast<double>(sizes[i]) / in;
    request.sizes[axis] = sizes[i];
    request.scales[axis] = scale;
    const bool better = policy == "not_larger" ? scale < common : scale > common;
    if (i == 0 || better) common = scale;
  }
  if (policy == "stretch") return true;
  for (const int64_t axis : axes) {
    const double size = std::floor(common * static_cast<double>(c.b.Dim(x, axis)) + 0.5);
    if (!CheckSize(c, size)) return false;
    request.scales[static_cast<size_t>(axis)] = common;
    request.sizes[static_cast<size_t>(axis)] = static_cast<int64_t>(size);
  }
  return true;
}

// Reads the scales of the first versions from operand or attribute.
std::vector<double> OldScales(OpContext& c) {
  if (c.HasAttr("scales")) return c.Floats("scales");
  return c.b.Floats(c.In(1), "operand 1");
}

bool ReadRequest(OpContext& c, ValueId x, Request& request) {
  const int64_t rank = c.b.RankOf(x);
  Dims axes;
  for (int64_t i = 0; i < rank; ++i) axes.push_back(i);
  axes = Axes(c, c.Ints("axes", axes), rank);
  request.sizes = c.b.DimsOf(x);
  request.scales.assign(static_cast<size_t>(rank), 1.0);
  request.roi.assign(static_cast<size_t>(2 * rank), 0.0);
  std::fill(request.roi.begin() + rank, request.roi.end(), 1.0);
  if (!c.ok()) return false;
  if (c.opset() < 11) return FromScales(c, OldScales(c), axes, x, request);
  if (c.Has(1) && c.Text("coordinate_transformation_mode", "") == "tf_crop_and_resize") {
    const std::vector<double> roi = c.b.Floats(c.In(1), "operand 1");
    if (roi.size() != 2 * axes.size()) c.Fail("roi must have two entries per axis");
    if (!c.ok()) return false;
    for (size_t i = 0; i < axes.size(); ++i) {
      request.roi[static_cast<size_t>(axes[i])] = roi[i];
      request.roi[static_cast<size_t>(axes[i] + rank)] = roi[i + axes.size()];
    }
  }
  if (c.Has(3)) return FromSizes(c, c.IntsIn(3), axes, x, request);
  const std::vector<double> scales = c.b.Floats(c.In(2), "operand 2");
  return c.ok() && FromScales(c, scales, axes, x, request);
}

// One matrix product per resized axis.
ValueId ByMatrices(OpContext& c, ValueId x, const ResizeForm& form, const Request& request,
                   double extrapolation) {
  Builder& b = c.b;
  const DType type = b.DTypeOf(x);
  const Dims dims = b.DimsOf(x);
  ValueId inside = kNoValue;
  Dims now = dims;
  ValueId y = IsFloat(type) ? x : b.Cast(x, DType::kF32);
  const DType wide = b.DTypeOf(y);
  for (size_t i = 0; i < dims.size() && c.ok(); ++i) {
    const ResizeAxis axis = {dims[i], request.sizes[i], request.scales[i], request.roi[i],
                             request.roi[i + dims.size()]};
    const bool whole = axis.roi_begin == 0 && axis.roi_end == 1;
    if (axis.in == axis.out && axis.scale == 1 && whole) continue;
    if (axis.in < 1 || axis.out > kMaxMatrix / axis.in) {
      c.Unsupported("a resize of this size with this mode");
      break;
    }
    const ResizeMatrix matrix = MakeResizeMatrix(form, axis);
    int64_t before = 1;
    int64_t after = 1;
    for (size_t k = 0; k < dims.size(); ++k) (k < i ? before : after) *= k == i ? 1 : now[k];
    const ValueId weights = b.FloatTensor(wide, {axis.out, axis.in}, matrix.weights);
    now[i] = axis.out;
    y = b.Reshape(b.MatMul(weights, b.Reshape(y, {before, axis.in, after})), now);
    Dims along(dims.size(), 1);
    along[i] = axis.out;
    const ValueId mask = b.FloatTensor(wide, along, matrix.inside);
    inside = inside == kNoValue ? mask : b.Times(inside, mask);
  }
  if (inside != kNoValue && form.coordinate_mode == "tf_crop_and_resize") {
    const ValueId outside = b.Minus(b.Scalar(wide, 1), inside);
    y = b.Plus(y, b.TimesNumber(outside, extrapolation));
  }
  return b.Cast(y, type);
}

void Resize(OpContext& c) {
  const ValueId x = c.In(0);
  Request request;
  if (!c.ok() || !ReadRequest(c, x, request)) return;
  const bool old = c.opset() < 11;
  ResizeForm form;
  form.mode = c.Text("mode", "nearest");
  if (form.mode == "bilinear" || form.mode == "trilinear") form.mode = "linear";
  form.coordinate_mode =
      old ? "asymmetric" : c.Text("coordinate_transformation_mode", "half_pixel");
  form.nearest_mode = old ? "floor" : c.Text("nearest_mode", "round_prefer_floor");
  form.cubic_coeff_a = c.Float("cubic_coeff_a", -0.75);
  form.exclude_outside = c.Flag("exclude_outside", false);
  form.antialias = c.Flag("antialias", false);
  const double extrapolation = c.Float("extrapolation_value", 0);
  if (form.mode != "nearest" && form.mode != "linear" && form.mode != "cubic") {
    return c.Fail("mode must be nearest, linear or cubic");
  }
  // No kernel interpolates these; products with small matrices do.
  const bool own = form.coordinate_mode == "tf_crop_and_resize" ||
                   form.coordinate_mode == "tf_half_pixel_for_nn" || form.antialias ||
                   form.mode == "cubic";
  if (own) return c.Out(ByMatrices(c, x, form, request, extrapolation));
  Value resize;
  resize.op = Op::kResize;
  resize.operands = {x};
  resize.attrs["mode"] = form.mode;
  resize.attrs["coordinate_mode"] = form.coordinate_mode;
  resize.attrs["nearest_mode"] = form.nearest_mode;
  resize.attrs["cubic_coeff_a"] = form.cubic_coeff_a;
  resize.attrs["exclude_outside"] = int64_t{form.exclude_outside};
  resize.attrs["scales"] = request.scales;
  resize.type = {c.b.DTypeOf(x), request.sizes, {}};
  c.Out(c.b.Add(std::move(resize)));
}

constexpr OpRow kResizeRows[] = {{"Resize", Resize, 4, 1}, {"Upsample", Resize, 2, 1}};

}  // namespace

std::span<const OpRow> ResizeOps() { return kResizeRows; }

}  // namespace mlc::graph::onnx
