// Col2Im: every element of a column is added where its window's tap lies in the image.
#include "compiler/graph/onnx/ops/products.h"
#include "compiler/graph/onnx/tables.h"

namespace mlc::graph::onnx {
namespace {

constexpr int64_t kMaxTaps = 1 << 12;
constexpr int64_t kMaxSide = int64_t{1} << 24;

struct Columns {
  Dims image;
  Dims block;
  Dims strides;
  Dims dilations;
  Dims pads;
  Dims windows;  // positions of the block along each dimension
  int64_t taps = 1;
  int64_t count = 1;

  size_t rank() const { return image.size(); }
  int64_t Reach(size_t i) const { return dilations[i] * (block[i] - 1) + 1; }
};

bool ReadColumns(OpContext& c, Columns& k) {
  k.image = c.IntsIn(1);
  k.block = c.IntsIn(2);
  const size_t rank = k.image.size();
  k.strides = c.Ints("strides", Dims(rank, 1));
  k.dilations = c.Ints("dilations", Dims(rank, 1));
  k.pads = c.Ints("pads", Dims(2 * rank, 0));
  if (!c.ok()) return false;
  if (rank < 1 || k.block.size() != rank || k.strides.size() != rank ||
      k.dilations.size() != rank || k.pads.size() != 2 * rank) {
    c.Fail("the shapes of image and block and the attributes do not fit each other");
    return false;
  }
  for (size_t i = 0; i < rank; ++i) {
    const auto within = [](int64_t v, int64_t low) { return v >= low && v <= kMaxSide; };
    if (!within(k.image[i], 1) || !within(k.block[i], 1) || !within(k.strides[i], 1) ||
        !within(k.dilations[i], 1) || !within(k.pads[i], 0) || !within(k.pads[i + rank], 0)) {
      c.Fail("a size, stride, dilation or pad is out of range");
      return false;
    }
    const int64_t slack = k.image[i] + k.pads[i] + k.pads[i + rank] - k.Reach(i);
    if (slack < 0) {
      c.Fail("the block is larger than the padded image");
      return false;
    }
    k.windows.push_back(slack / k.strides[i] + 1);
    k.taps *= k.block[i];
    k.count *= k.windows[i];
    if (k.taps > kMaxTaps || k.count > kMaxSide) {
      c.Unsupported("a block or an image of this size");
      return false;
    }
  }
  return true;
}

// Blocks that tile the image only move.
ValueId Tiled(Builder& b, ValueId x, const Columns& k, int64_t batch, int64_t channels) {
  const size_t rank = k.rank();
  Dims split = {batch, channels};
  split.insert(split.end(), k.block.begin(), k.block.end());
  split.insert(split.end(), k.windows.begin(), k.windows.end());
  Dims perm = {0, 1};
  Dims joined = {batch, channels};
  for (size_t i = 0; i < rank; ++i) {
    perm.push_back(static_cast<int64_t>(2 + rank + i));
    perm.push_back(static_cast<int64_t>(2 + i));
    joined.push_back(k.image[i]);
  }
  return b.Reshape(b.Transpose(b.Reshape(x, split), perm), joined);
}

// The elements of one tap, in the padded image.
ValueId Placed(Builder& b, ValueId taps, const Columns& k, int64_t tap, const Dims& flat) {
  const size_t rank = k.rank();
  Dims pads(2 * (rank + 2), 0);
  int64_t rest = tap;
  for (size_t i = rank; i-- > 0;) {
    const int64_t before = rest % k.block[i] * k.dilations[i];
    rest /= k.block[i];
    const int64_t size = k.image[i] + k.pads[i] + k.pads[i + rank];
    pads[2 + i] = before;
    pads[rank + 4 + i] = size - before - ((k.windows[i] - 1) * k.strides[i] + 1);
  }
  const ValueId one = b.Reshape(b.SliceAxis(taps, 2, tap, 1), flat);
  return b.Pad(Spread(b, one, k.strides), pads, 0);
}

void Col2Im(OpContext& c) {
  Builder& b = c.b;
  const ValueId x = c.In(0);
  Columns k;
  if (!c.ok() || !ReadColumns(c, k)) return;
  const Dims d = b.DimsOf(x);
  if (d.size() != 3 || d[1] % k.taps != 0 || d[2] != k.count) {
    return c.Fail("the columns do not fit image and block");
  }
  const int64_t channels = d[1] / k.taps;
  const size_t rank = k.rank();
  bool tiles = k.strides == k.block && k.pads == Dims(2 * rank, 0) && k.dilations == Dims(rank, 1);
  for (size_t i = 0; i < rank; ++i) tiles = tiles && k.windows[i] * k.block[i] == k.image[i];
  if (tiles) return c.Out(Tiled(b, x, k, d[0], channels));
  const ValueId taps = b.Reshape(x, {d[0], channels, k.taps, k.count});
  Dims flat = {d[0], channels};
  flat.insert(flat.end(), k.windows.begin(), k.windows.end());
  ValueId sum = kNoValue;
  for (int64_t tap = 0; tap < k.taps && c.ok(); ++tap) {
    const ValueId placed = Placed(b, taps, k, tap, flat);
    sum = sum == kNoValue ? placed : b.Plus(sum, placed);
  }
  for (size_t i = 0; i < rank; ++i) {
    sum = b.SliceAxis(sum, static_cast<int64_t>(i) + 2, k.pads[i], k.image[i]);
  }
  c.Out(sum);
}

constexpr OpRow kCol2imRows[] = {{"Col2Im", Col2Im, 3, 1}};

}  // namespace

std::span<const OpRow> Col2ImOps() { return kCol2imRows; }

}  // namespace mlc::graph::onnx
