// TopK by rank: an element's rank is the number of elements that come before it, and the result
// at position p is the sum over the one element of rank p. Long rows first give the best of
// every block, which are then ranked.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "compiler/graph/onnx/axes.h"
#include "compiler/graph/onnx/tables.h"

namespace mlc::graph::onnx {
namespace {

constexpr int64_t kMaxCompared = int64_t{1} << 22;  // pairs of one row that are ranked at once
constexpr int64_t kMaxRow = int64_t{1} << 20;
constexpr int64_t kMaxSorted = int64_t{1} << 13;  // where k is known at run time only

struct Ranked {
  ValueId values = kNoValue;   // [rows, k]
  ValueId indices = kNoValue;  // [rows, k] of i64
};

Dims Count(int64_t count) {
  Dims values(static_cast<size_t>(count));
  std::iota(values.begin(), values.end(), 0);
  return values;
}

// Of the pair of sums below, each has one addend that is not zero.
ValueId Pick(Builder& b, ValueId chosen, ValueId x, int64_t rows, int64_t n) {
  const ValueId zero = b.ScalarLike(x, 0);
  return b.Reduce("sum", b.Select(chosen, b.Reshape(x, {rows, 1, n}), zero), {2}, false);
}

// `x` and `indices` have dims [rows, n]; equal elements keep their order.
Ranked RankAll(Builder& b, ValueId x, ValueId indices, int64_t k, bool largest) {
  const int64_t rows = b.Dim(x, 0);
  const int64_t n = b.Dim(x, 1);
  const ValueId self = b.Reshape(x, {rows, n, 1});
  const ValueId other = b.Reshape(x, {rows, 1, n});
  const ValueId positions = b.Cast(b.IntVector(Count(n)), DType::kI32);
  const ValueId better =
      largest ? b.Apply(ScalarOp::kLess, {self, other}) : b.Apply(ScalarOp::kLess, {other, self});
  const ValueId earlier = b.Apply(ScalarOp::kLess, {positions, b.Reshape(positions, {n, 1})});
  const ValueId tie = b.Apply(ScalarOp::kAnd, {b.Apply(ScalarOp::kEqual, {self, other}), earlier});
  const ValueId before = b.Apply(ScalarOp::kOr, {better, tie});
  const ValueId rank = b.Reduce("sum", b.Cast(before, DType::kI32), {2}, false);
  const ValueId places = b.Cast(b.IntVector(Count(k)), DType::kI32);
  const ValueId chosen =
      b.Apply(ScalarOp::kEqual, {b.Reshape(rank, {rows, 1, n}), b.Reshape(places, {k, 1})});
  const ValueId narrow = b.Cast(indices, DType::kI32);
  return {Pick(b, chosen, x, rows, n), b.Cast(Pick(b, chosen, narrow, rows, n), DType::kI64)};
}

double Worst(DType dtype, bool largest) {
  if (IsFloat(dtype)) {
    return largest ? -std::numeric_limits<double>::infinity()
                   : std::numeric_limits<double>::infinity();
  }
  if (IsUnsigned(dtype)) return largest ? 0 : std::ldexp(1.0, BitsOf(dtype)) - 1;
  const int bits = static_cast<int>(SizeOf(dtype)) * 8 - 1;
  const double limit = std::ldexp(1.0, std::min(bits, 62));
  return largest ? -limit : limit - (bits < 62 ? 1 : 0);
}

// The size of a block such that ranking the blocks and then their best takes least.
int64_t BlockSize(int64_t n, int64_t k) {
  int64_t best = n;
  double least = static_cast<double>(n) * static_cast<double>(n);
  for (int64_t size = 2 * k; size < n; size *= 2) {
    const int64_t blocks = (n + size - 1) / size;
    const double left = static_cast<double>(blocks * k);
    const double cost = static_cast<double>(n) * static_cast<double>(size) + left * left;
    if (cost < least) {
      least = cost;
      best = size;
    }
  }
  return best;
}

Ranked RankRows(Builder& b, ValueId x, int64_t k, bool largest) {
  const int64_t rows = b.Dim(x, 0);
  const int64_t n = b.Dim(x, 1);
  ValueId indices = b.Reshape(b.IntVector(Count(n)), {1, n});
  const int64_t block = n * n > kMaxCompared ? BlockSize(n, k) : n;
  if (block == n) return RankAll(b, x, b.Expand(indices, {rows, n}), k, largest);
  const int64_t blocks = (n + block - 1) / block;
  const Dims pads = {0, 0, 0, blocks * block - n};
  x = b.Reshape(b.Pad(x, pads, Worst(b.DTypeOf(x), largest)), {rows * blocks, block});
  indices = b.Expand(b.Reshape(b.Pad(indices, pads, 0), {1, blocks, block}), {rows, blocks, block});
  const Ranked best = RankAll(b, x, b.Reshape(indices, {rows * blocks, block}), k, largest);
  const Dims joined = {rows, blocks * k};
  return RankAll(b, b.Reshape(best.values, joined), b.Reshape(best.indices, joined), k, largest);
}

void TopK(OpContext& c) {
  Builder& b = c.b;
  const ValueId x = c.In(0);
  const int64_t axis = Axis(c, c.Int("axis", -1), b.RankOf(x));
  const bool is_counted = c.opset() >= 10 && c.ok() && c.Has(1) && !b.IsConstant(c.In(1));
  const Dims count = is_counted       ? Dims{b.Dim(x, axis)}
                     : c.opset() < 10 ? Dims{c.RequiredInt("k")}
                                      : c.IntsIn(1);
  const bool largest = c.Flag("largest", true);
  if (!c.ok()) return;
  if (count.size() != 1) return c.Fail("k must be a scalar");
  const Dims dims = b.DimsOf(x);
  const int64_t n = dims[static_cast<size_t>(axis)];
  const int64_t k = count[0];
  if (k < 0 || k > n) return c.Fail("k is out of range for the axis");
  const int64_t longest = is_counted ? kMaxSorted : kMaxRow;
  if (n > longest) return c.Unsupported("an axis of more than " + std::to_string(longest));
  if (is_counted && b.TypeOf(c.In(1)).NumElements() != 1) return c.Fail("k must be a scalar");
  Dims perm = Count(static_cast<int64_t>(dims.size()));
  std::swap(perm[static_cast<size_t>(axis)], perm.back());
  Dims last = dims;
  std::swap(last[static_cast<size_t>(axis)], last.back());
  int64_t rows = 1;
  for (size_t i = 0; i + 1 < last.size(); ++i) rows *= last[i];
  last.back() = k;
  if (k == 0 || rows == 0) {
    c.Out(b.Transpose(b.Expand(b.ScalarLike(x, 0), last), perm), 0);
    c.Out(b.Transpose(b.Expand(b.IntScalar(0), last), perm), 1);
    return;
  }
  const ValueId flat = b.Reshape(b.Transpose(x, perm), {rows, n});
  const Ranked ranked = RankRows(b, flat, k, largest);
  ValueId values = b.Transpose(b.Reshape(ranked.values, last), perm);
  ValueId indices = b.Transpose(b.Reshape(ranked.indices, last), perm);
  if (is_counted) {
    const int dim = c.counted.LimitOf(b, c.In(1), n);
    values = c.counted.Cut(b, values, axis, dim);
    indices = c.counted.Cut(b, indices, axis, dim);
  }
  c.Out(values, 0);
  c.Out(indices, 1);
}

constexpr OpRow kTopKRows[] = {
    {"TopK", TopK, 2, 2, "axes of at most 2^20 elements, 2^13 if k is no constant"}};

}  // namespace

std::span<const OpRow> TopKOps() { return kTopKRows; }

}  // namespace mlc::graph::onnx
