// Fourier transforms as products with a matrix of cosines and sines, and the usual windows.
#include <algorithm>
#include <cmath>

#include "compiler/graph/onnx/axes.h"
#include "compiler/graph/onnx/tables.h"
#include "compiler/graph/onnx/tensor.h"

namespace mlc::graph::onnx {
namespace {

constexpr int64_t kMaxMatrix = int64_t{1} << 24;

struct Transform {
  int64_t length = 0;      // of the transform
  int64_t given = 0;       // elements of the operand; the rest are zero
  int64_t components = 1;  // 2: the operand is complex
  bool inverse = false;
  bool onesided = false;

  // The other half of a spectrum mirrors the one that is given: the result is real.
  bool Mirrors() const { return inverse && onesided; }
  int64_t Results() const { return onesided && !inverse ? length / 2 + 1 : length; }
  int64_t ResultComponents() const { return Mirrors() ? 1 : 2; }
};

// From rows of (element, component) to rows of (result, component); fails if it is too large.
ValueId TransformMatrix(OpContext& c, const Transform& t, DType type) {
  if (!c.ok()) return kNoValue;
  const int64_t rows = t.given * t.components;
  const int64_t parts = t.ResultComponents();
  const int64_t columns = parts * t.Results();
  if (rows < 1 || columns > kMaxMatrix / rows) {
    c.Unsupported("a transform of " + std::to_string(t.length) + " elements");
    return kNoValue;
  }
  std::vector<double> values(static_cast<size_t>(rows * columns));
  for (int64_t n = 0; n < t.given; ++n) {
    double scale = t.inverse ? 1 / static_cast<double>(t.length) : 1;
    if (t.Mirrors() && n > 0 && 2 * n < t.length) scale *= 2;
    for (int64_t f = 0; f < t.Results(); ++f) {
      // The product modulo the length keeps the angle, and its sine exact.
      const double turn = static_cast<double>(n * f % t.length) / static_cast<double>(t.length);
      const double re = scale * std::cos(2 * M_PI * turn);
      const double im = (t.inverse ? scale : -scale) * std::sin(2 * M_PI * turn);
      double* const at = &values[static_cast<size_t>(n * t.components * columns + parts * f)];
      at[0] = re;
      if (parts == 2) at[1] = im;
      if (t.components == 1) continue;
      at[columns] = -im;
      if (parts == 2) at[columns + 1] = re;
    }
  }
  return c.b.FloatTensor(type, {rows, columns}, values);
}

// x [..., given, components] to [..., results, components].
ValueId Transformed(OpContext& c, ValueId x, const Transform& t) {
  Builder& b = c.b;
  const ValueId matrix = TransformMatrix(c, t, b.DTypeOf(x));
  if (!c.ok()) return kNoValue;
  Dims dims = b.DimsOf(x);
  dims.pop_back();
  dims.back() = t.given * t.components;
  const ValueId product = b.MatMul(b.Reshape(x, dims), matrix);
  dims.back() = t.Results();
  dims.push_back(t.ResultComponents());
  return b.Reshape(product, dims);
}

bool CheckComponents(OpContext& c, ValueId x) {
  if (!c.ok()) return false;
  const int64_t components = c.b.RankOf(x) < 2 ? 0 : c.b.Dim(x, c.b.RankOf(x) - 1);
  if (components != 1 && components != 2) c.Fail("the last dimension must be 1 or 2");
  return c.ok();
}

// The axis is an attribute before version 20 and an operand since.
int64_t TransformAxis(OpContext& c, int64_t rank) {
  int64_t axis = c.opset() < 20 ? c.Int("axis", 1) : -2;
  if (c.opset() >= 20 && c.Has(2)) {
    const Dims given = c.IntsIn(2);
    if (given.size() != 1) c.Fail("the axis must be one number");
    if (!c.ok()) return 0;
    axis = given[0];
  }
  axis = Axis(c, axis, rank);
  if (c.ok() && axis == rank - 1) c.Fail("the axis must not be the last");
  return axis;
}

void Dft(OpContext& c) {
  Builder& b = c.b;
  ValueId x = c.In(0);
  if (!CheckComponents(c, x)) return;
  const int64_t rank = b.RankOf(x);
  const int64_t axis = TransformAxis(c, rank);
  Transform t;
  t.components = b.Dim(x, rank - 1);
  t.inverse = c.Flag("inverse", false);
  t.onesided = c.Flag("onesided", false);
  t.length = t.Mirrors() ? 2 * (b.Dim(x, axis) - 1) : b.Dim(x, axis);
  if (c.Has(1)) {
    const Dims given = c.IntsIn(1);
    t.length = given.size() == 1 ? given[0] : 0;
  }
  if (c.ok() && (t.length < 1 || t.length > kMaxMatrix)) c.Fail("dft_length must be positive");
  if (c.ok() && t.Mirrors() && t.components != 2) c.Fail("half a spectrum must be complex");
  if (!c.ok()) return;
  t.given = std::min(t.Mirrors() ? t.length / 2 + 1 : t.length, b.Dim(x, axis));
  Dims perm;
  for (int64_t i = 0; i < rank; ++i) perm.push_back(i);
  std::swap(perm[static_cast<size_t>(axis)], perm[static_cast<size_t>(rank) - 2]);
  x = b.Transpose(b.SliceAxis(x, axis, 0, t.given), perm);
  c.Out(b.Transpose(Transformed(c, x, t), perm));
}

// Operands: signal [batch, length, components], step, window, length of a frame.
void Stft(OpContext& c) {
  Builder& b = c.b;
  const ValueId x = c.In(0);
  if (!CheckComponents(c, x)) return;
  if (b.RankOf(x) != 3) return c.Fail("operand 0 must have rank 3");
  const Dims step = c.IntsIn(1);
  if (c.ok() && (step.size() != 1 || step[0] < 1)) return c.Fail("frame_step must be positive");
  Transform t;
  t.components = b.Dim(x, 2);
  t.onesided = c.Flag("onesided", true);
  if (c.Has(2)) t.length = b.Dim(c.In(2), 0);
  if (c.Has(3)) {
    const Dims given = c.IntsIn(3);
    t.length = given.size() == 1 ? given[0] : 0;
  }
  if (!c.ok()) return;
  const int64_t samples = b.Dim(x, 1);
  if (t.length < 1 || t.length > samples) return c.Fail("a frame must fit the signal");
  t.given = t.length;
  const int64_t frames = (samples - t.length) / step[0] + 1;
  if (frames > kMaxMatrix / t.length) return c.Unsupported("a signal of this length");
  Dims places;
  for (int64_t frame = 0; frame < frames; ++frame) {
    for (int64_t n = 0; n < t.length; ++n) places.push_back(frame * step[0] + n);
  }
  ValueId framed = b.Gather(x, b.Reshape(b.IntVector(places), {frames, t.length}), 1);
  if (c.Has(2)) framed = b.Times(framed, b.Reshape(c.In(2), {t.length, 1}));
  c.Out(Transformed(c, framed, t));
}

// constant - first cos + second cos of twice the angle, over a period or from end to end.
void OutWindow(OpContext& c, double constant, double first, double second) {
  const Dims size = c.IntsIn(0);
  if (c.ok() && (size.size() != 1 || size[0] < 1 || size[0] > kMaxMatrix)) {
    return c.Fail("the size must be one positive number");
  }
  const int64_t named = c.Int("output_datatype", 1);
  const bool periodic = c.Flag("periodic", true);
  if (!c.ok()) return;
  const Result<DType> type = DTypeOf(static_cast<int32_t>(named));
  if (!type.ok() || !IsFloat(*type)) return c.Unsupported("this output_datatype");
  std::vector<double> values;
  const double period = static_cast<double>(std::max<int64_t>(size[0] - (periodic ? 0 : 1), 1));
  for (int64_t i = 0; i < size[0]; ++i) {
    const double angle = 2 * M_PI * static_cast<double>(i) / period;
    values.push_back(constant - first * std::cos(angle) + second * std::cos(2 * angle));
  }
  c.Out(c.b.FloatTensor(*type, size, values));
}

void BlackmanWindow(OpContext& c) { OutWindow(c, 0.42, 0.5, 0.08); }
void HammingWindow(OpContext& c) { OutWindow(c, 25.0 / 46, 21.0 / 46, 0); }
void HannWindow(OpContext& c) { OutWindow(c, 0.5, 0.5, 0); }

constexpr OpRow kFourierRows[] = {
    {"BlackmanWindow", BlackmanWindow, 1, 1},
    {"DFT", Dft, 3, 1},
    {"HammingWindow", HammingWindow, 1, 1},
    {"HannWindow", HannWindow, 1, 1},
    {"STFT", Stft, 4, 1},
};

}  // namespace

std::span<const OpRow> FourierOps() { return kFourierRows; }

}  // namespace mlc::graph::onnx
