// Pools. ceil_mode is a larger pad at the end, which the window never counts.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "compiler/graph/onnx/ops/pools.h"
#include "compiler/graph/onnx/ops/window.h"
#include "compiler/graph/onnx/tables.h"

namespace mlc::graph::onnx {
namespace {

// Extends the end pads so that the last, partial window has room. True if it had to.
bool ExtendForCeil(OpContext& c, ValueId x, Window& window) {
  bool extended = false;
  for (size_t i = 0; i < window.rank(); ++i) {
    const int64_t in = c.b.Dim(x, static_cast<int64_t>(i) + 2);
    int64_t& end = window.pads[i + window.rank()];
    const int64_t slack = in + window.pads[i] + end - window.Reach(i);
    if (slack < 0) continue;
    const int64_t stride = window.strides[i];
    int64_t last = (slack + stride - 1) / stride;
    // The last window starts in the operand or before it.
    if (last * stride >= in + window.pads[i]) --last;
    const int64_t missing = last * stride - slack;
    if (missing > 0) {
      end += missing;
      extended = true;
    }
  }
  return extended;
}

ValueId Pool(OpContext& c, const char* kind, ValueId x, const Window& window, bool include_pad) {
  Value pool;
  pool.op = Op::kPool;
  pool.operands = {x};
  SetWindow(window, pool);
  pool.attrs["kernel"] = window.kernel;
  pool.attrs["kind"] = std::string(kind);
  pool.attrs["count_include_pad"] = int64_t{include_pad};
  return c.b.Add(std::move(pool));
}

// The declared pads become zeros of the operand; the window keeps no pads.
ValueId PadExplicitly(OpContext& c, ValueId x, Window& window) {
  Dims pads(2 * (window.rank() + 2), 0);
  for (size_t i = 0; i < window.rank(); ++i) {
    pads[i + 2] = window.pads[i];
    pads[window.rank() + 2 + i + 2] = window.pads[i + window.rank()];
  }
  window.pads.assign(2 * window.rank(), 0);
  return c.b.Pad(x, pads, 0);
}

constexpr int64_t kMaxTaps = 256;
constexpr int64_t kMaxSide = int64_t{1} << 24;

// How far apart the neighbours along each dimension are in an index into the whole operand. In
// column-major order the first spatial dimension is the innermost one.
Dims IndexStrides(const Dims& in, bool column_major) {
  Dims strides = DenseStrides(in);
  int64_t stride = 1;
  for (size_t i = 2; column_major && i < in.size(); ++i) {
    strides[i] = stride;
    stride *= in[i];
  }
  return strides;
}

// The index of what every window starts with, [N, C, windows]; pads come before the operand.
ValueId FirstPlaces(Builder& b, const Dims& in, const Dims& strides, const Dims& out,
                    const Window& window) {
  ValueId sum = kNoValue;
  for (size_t i = 0; i < in.size(); ++i) {
    Dims places;
    for (int64_t k = 0; k < out[i]; ++k) {
      const int64_t at = i < 2 ? k : k * window.strides[i - 2] - window.pads[i - 2];
      places.push_back(at * strides[i]);
    }
    Dims along(in.size(), 1);
    along[i] = out[i];
    const ValueId axis = b.Reshape(b.IntVector(places), along);
    sum = sum == kNoValue ? axis : b.Plus(sum, axis);
  }
  return sum;
}

// Where in the whole operand each window has its first largest element.
ValueId PlacesOfLargest(OpContext& c, ValueId x, const Window& window, const Dims& out) {
  Builder& b = c.b;
  const Dims in = b.DimsOf(x);
  const Dims strides = IndexStrides(in, c.Flag("storage_order", false));
  int64_t taps = 1;
  for (const int64_t k : window.kernel) taps = std::min(taps * k, kMaxTaps + 1);
  if (taps > kMaxTaps || *std::max_element(out.begin(), out.end()) > kMaxSide) {
    c.Unsupported("the indices of a window or a result of this size");
    return kNoValue;
  }
  Dims pads(2 * in.size(), 0);
  for (size_t i = 0; i < window.rank(); ++i) {
    pads[i + 2] = window.pads[i];
    pads[in.size() + i + 2] = window.pads[i + window.rank()];
  }
  const ValueId padded = b.Pad(x, pads, -std::numeric_limits<double>::infinity());
  Dims steps = {1, 1};
  steps.insert(steps.end(), window.strides.begin(), window.strides.end());
  ValueId largest = kNoValue;
  ValueId place = kNoValue;
  for (int64_t tap = 0; tap < taps && c.ok(); ++tap) {
    Dims starts(in.size(), 0);
    int64_t offset = 0;
    int64_t rest = tap;
    for (size_t i = window.rank(); i-- > 0;) {
      starts[i + 2] = rest % window.kernel[i] * window.dilations[i];
      rest /= window.kernel[i];
      offset += starts[i + 2] * strides[i + 2];
    }
    const ValueId value = b.Slice(padded, starts, steps, out);
    const ValueId at = b.IntScalar(offset);
    if (tap == 0) {
      largest = value;
      place = at;
      continue;
    }
    const ValueId larger = b.Apply(ScalarOp::kLess, {largest, value});
    place = b.Select(larger, at, place);
    largest = b.Select(larger, value, largest);
  }
  return b.Plus(FirstPlaces(b, in, strides, out, window), place);
}

// Kernels pool floats; those have every 8-bit integer.
void MaxPool(OpContext& c) {
  const DType type = c.b.DTypeOf(c.In(0));
  const ValueId x = IsFloat(type) ? c.In(0) : c.b.Cast(c.In(0), DType::kF32);
  Window window = ReadWindow(c, x, c.Ints("kernel_shape"));
  if (!c.ok()) return;
  if (c.Flag("ceil_mode", false)) ExtendForCeil(c, x, window);
  const ValueId y = Pool(c, "max", x, window, false);
  c.Out(c.b.Cast(y, type));
  if (!c.IsOutputUsed(1) || !c.ok()) return;
  const Dims windows = c.b.DimsOf(y);
  c.Out(PlacesOfLargest(c, x, window, windows), 1);
}

// The pooled elements where they came from, among zeros. A larger result than the window asks for
// is one that the indices know of.
void MaxUnpool(OpContext& c) {
  Builder& b = c.b;
  const ValueId x = c.In(0);
  const ValueId indices = c.In(1);
  const Window window = ReadWindow(c, x, c.Ints("kernel_shape"));
  if (!c.ok()) return;
  Dims dims = b.DimsOf(x);
  const int64_t count = b.TypeOf(x).NumElements();
  if (b.DimsOf(indices) != dims) return c.Fail("the indices do not fit operand 0");
  for (size_t i = 0; i < window.rank(); ++i) {
    dims[i + 2] = (dims[i + 2] - 1) * window.strides[i] + window.kernel[i] - window.pads[i] -
                  window.pads[i + window.rank()];
  }
  if (c.Has(2)) dims = c.IntsIn(2);
  const ValueId zeros = b.Expand(b.ScalarLike(x, 0), dims);
  if (!c.ok()) return;
  Value scatter;
  scatter.op = Op::kScatterElements;
  scatter.operands = {b.Reshape(zeros, {b.TypeOf(zeros).NumElements()}),
                      b.Reshape(indices, {count}), b.Reshape(x, {count})};
  c.Out(b.Reshape(b.Add(std::move(scatter)), dims));
}

void AveragePool(OpContext& c) { c.Out(AveragePooled(c, c.In(0))); }

// The p-norm of each window: the sum of |x|^p is the mean over the padded window times its size.
void LpPool(OpContext& c) {
  Builder& b = c.b;
  const ValueId x = c.In(0);
  const double p = static_cast<double>(c.Int("p", 2));
  Window window = ReadWindow(c, x, c.Ints("kernel_shape"));
  if (!c.ok()) return;
  double size = 1;
  for (const int64_t k : window.kernel) size *= static_cast<double>(k);
  ValueId power = b.Apply(ScalarOp::kPow, {b.Apply(ScalarOp::kAbs, {x}), b.ScalarLike(x, p)});
  if (c.Flag("ceil_mode", false)) ExtendForCeil(c, x, window);
  power = PadExplicitly(c, power, window);
  const ValueId sum = b.TimesNumber(Pool(c, "avg", power, window, true), size);
  c.Out(b.Apply(ScalarOp::kPow, {sum, b.ScalarLike(x, 1 / p)}));
}

void Global(OpContext& c, const char* kind) {
  const ValueId x = c.In(0);
  if (!c.ok()) return;
  if (c.b.RankOf(x) < 3) return c.Fail("operand 0 must have rank 3 or more");
  Dims axes;
  for (int64_t i = 2; i < c.b.RankOf(x); ++i) axes.push_back(i);
  c.Out(c.b.Reduce(kind, x, axes, true));
}

void GlobalAveragePool(OpContext& c) { Global(c, "mean"); }
void GlobalMaxPool(OpContext& c) { Global(c, "max"); }

constexpr OpRow kPoolRows[] = {
    {"AveragePool", AveragePool, 1, 1},
    {"GlobalAveragePool", GlobalAveragePool, 1, 1},
    {"GlobalMaxPool", GlobalMaxPool, 1, 1},
    {"LpPool", LpPool, 1, 1},
    {"MaxPool", MaxPool, 1, 2},
    {"MaxUnpool", MaxUnpool, 3, 1},
};

}  // namespace

ValueId AveragePooled(OpContext& c, ValueId x) {
  Window window = ReadWindow(c, x, c.Ints("kernel_shape"));
  if (!c.ok()) return kNoValue;
  bool include_pad = c.Flag("count_include_pad", false);
  if (c.Flag("ceil_mode", false)) {
    Window extended = window;
    if (ExtendForCeil(c, x, extended)) {
      if (include_pad) {
        // Declared pads count and the extension does not: only the latter stays a pad.
        x = PadExplicitly(c, x, window);
        for (size_t i = 0; i < window.rank(); ++i) {
          window.pads[i + window.rank()] =
              extended.pads[i + window.rank()] -
              c.Ints("pads", Dims(2 * window.rank(), 0))[i + window.rank()];
        }
        include_pad = false;
      } else {
        window = std::move(extended);
      }
    }
  }
  return Pool(c, "avg", x, window, include_pad);
}

std::span<const OpRow> PoolOps() { return kPoolRows; }

}  // namespace mlc::graph::onnx
