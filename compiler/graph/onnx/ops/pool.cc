// Pools. ceil_mode is a larger pad at the end, which the window never counts.
#include <cmath>

#include "compiler/graph/onnx/ops/tables.h"
#include "compiler/graph/onnx/ops/window.h"

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

// Kernels pool floats; those have every 8-bit integer.
void MaxPool(OpContext& c) {
  const DType type = c.b.DTypeOf(c.In(0));
  const ValueId x = IsFloat(type) ? c.In(0) : c.b.Cast(c.In(0), DType::kF32);
  Window window = ReadWindow(c, x, c.Ints("kernel_shape"));
  if (!c.ok()) return;
  if (c.Flag("ceil_mode", false)) ExtendForCeil(c, x, window);
  c.Out(c.b.Cast(Pool(c, "max", x, window, false), type));
}

ValueId Average(OpContext& c, ValueId x) {
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
        window = extended;
      }
    }
  }
  return Pool(c, "avg", x, window, include_pad);
}

void AveragePool(OpContext& c) { c.Out(Average(c, c.In(0))); }

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

constexpr OpRow kRows[] = {
    {"AveragePool", AveragePool},
    {"GlobalAveragePool", GlobalAveragePool},
    {"GlobalMaxPool", GlobalMaxPool},
    {"LpPool", LpPool},
    {"MaxPool", MaxPool},
};

}  // namespace

std::span<const OpRow> PoolOps() { return kRows; }

}  // namespace mlc::graph::onnx
