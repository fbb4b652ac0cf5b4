// Operators that change a value's shape or the order of its dimensions.
#include <algorithm>
#include <numeric>

#include "compiler/graph/onnx/axes.h"
#include "compiler/graph/onnx/tables.h"

namespace mlc::graph::onnx {
namespace {

// Elements before and from `axis`.
Dims TwoDims(const Dims& dims, int64_t axis) {
  Dims two = {1, 1};
  for (size_t i = 0; i < dims.size(); ++i) {
    two[static_cast<int64_t>(i) < axis ? 0 : 1] *= dims[i];
  }
  return two;
}

void Reshape(OpContext& c) {
  const ValueId x = c.In(0);
  Dims dims = c.opset() < 5 && !c.Has(1) ? c.Ints("shape") : c.IntsIn(1);
  if (!c.ok()) return;
  const bool zero_is_zero = c.Flag("allowzero", false);
  int64_t known = 1;
  int64_t* unknown = nullptr;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0 && !zero_is_zero) {
      if (static_cast<int>(i) >= c.b.RankOf(x))
        return c.Fail("a 0 in the shape refers to no dimension of the operand");
      dims[i] = c.b.Dim(x, static_cast<int64_t>(i));
    }
    if (dims[i] < -1) return c.Fail("the shape has a negative dimension");
    if (dims[i] == -1) {
      if (unknown != nullptr) return c.Fail("the shape has two unknown dimensions");
      unknown = &dims[i];
    } else if (__builtin_mul_overflow(known, dims[i], &known)) {
      return c.Fail("the shape's product overflows");
    }
  }
  const int64_t count = c.b.TypeOf(x).NumElements();
  if (unknown != nullptr) {
    if (known == 0 || count % known != 0) return c.Fail("the unknown dimension does not fit");
    *unknown = count / known;
  }
  c.Out(c.b.Reshape(x, dims));
}

void Flatten(OpContext& c) {
  const ValueId x = c.In(0);
  const int64_t rank = c.b.RankOf(x);
  int64_t axis = c.Int("axis", 1);
  if (axis != rank) axis = Axis(c, axis, std::max<int64_t>(rank, 1));
  c.Out(c.b.Reshape(x, TwoDims(c.b.DimsOf(x), axis)));
}

void Squeeze(OpContext& c) {
  const ValueId x = c.In(0);
  const std::optional<Dims> given = AxesOperandOrAttr(c, 1);
  const int64_t rank = c.b.RankOf(x);
  Dims axes = Axes(c, given.value_or(Dims{}), rank);
  if (!c.ok()) return;
  Dims dims;
  for (int64_t i = 0; i < rank; ++i) {
    const bool listed = std::find(axes.begin(), axes.end(), i) != axes.end();
    if (listed && c.b.Dim(x, i) != 1) {
      return c.Fail("cannot squeeze dimension " + std::to_string(i) + " of size " +
                    std::to_string(c.b.Dim(x, i)));
    }
    const bool dropped = given.has_value() ? listed : c.b.Dim(x, i) == 1;
    if (!dropped) dims.push_back(c.b.Dim(x, i));
  }
  c.Out(c.b.Reshape(x, dims));
}

void Unsqueeze(OpContext& c) {
  const ValueId x = c.In(0);
  const std::optional<Dims> given = AxesOperandOrAttr(c, 1);
  if (!given.has_value()) return c.Fail("axes are missing");
  const int64_t rank = c.b.RankOf(x) + static_cast<int64_t>(given->size());
  if (given->size() > 8) return c.Fail("there are too many axes");
  const Dims axes = Axes(c, *given, rank);
  if (!c.ok()) return;
  Dims dims;
  int64_t next = 0;
  for (int64_t i = 0; i < rank; ++i) {
    const bool inserted = std::find(axes.begin(), axes.end(), i) != axes.end();
    dims.push_back(inserted ? 1 : c.b.Dim(x, next++));
  }
  c.Out(c.b.Reshape(x, dims));
}

void Transpose(OpContext& c) {
  const ValueId x = c.In(0);
  Dims perm(static_cast<size_t>(c.b.RankOf(x)));
  std::iota(perm.rbegin(), perm.rend(), 0);
  perm = c.Ints("perm", perm);
  if (perm.size() != static_cast<size_t>(c.b.RankOf(x))) {
    return c.Fail("perm must have one entry per dimension");
  }
  c.Out(c.b.Transpose(x, Axes(c, perm, c.b.RankOf(x))));
}

void Expand(OpContext& c) {
  const ValueId x = c.In(0);
  const Dims target = c.IntsIn(1);
  if (!c.ok()) return;
  const Result<Dims> dims = BroadcastDims(c.b.DimsOf(x), target);
  if (!dims.ok()) return (void)c.b.Fail(dims.status());
  c.Out(c.b.Expand(x, *dims));
}

void Tile(OpContext& c) {
  const ValueId x = c.In(0);
  const Dims repeats = c.IntsIn(1);
  if (!c.ok()) return;
  Value tile;
  tile.op = Op::kTile;
  tile.operands = {x};
  tile.attrs["repeats"] = repeats;
  c.Out(c.b.Add(std::move(tile)));
}

// The block is checked against the dimensions that it divides before anything is multiplied.
int64_t BlockSize(OpContext& c, ValueId x) {
  const int64_t block = c.RequiredInt("blocksize");
  if (c.ok() && c.b.RankOf(x) != 4) c.Fail("the operand must have rank 4");
  if (c.ok() && (block < 1 || block > (1 << 20))) c.Fail("blocksize must be positive");
  return block;
}

void DepthToSpace(OpContext& c) {
  const ValueId x = c.In(0);
  const int64_t s = BlockSize(c, x);
  if (!c.ok()) return;
  const Dims d = c.b.DimsOf(x);
  if (d[1] % (s * s) != 0) return c.Fail("blocksize does not divide the channels");
  const int64_t depth = d[1] / (s * s);
  const std::string mode = c.Text("mode", "DCR");
  ValueId y = kNoValue;
  if (mode == "DCR") {
    y = c.b.Transpose(c.b.Reshape(x, {d[0], s, s, depth, d[2], d[3]}), {0, 3, 4, 1, 5, 2});
  } else if (mode == "CRD") {
    y = c.b.Transpose(c.b.Reshape(x, {d[0], depth, s, s, d[2], d[3]}), {0, 1, 4, 2, 5, 3});
  } else {
    return c.Fail("mode must be DCR or CRD");
  }
  c.Out(c.b.Reshape(y, {d[0], depth, d[2] * s, d[3] * s}));
}

void SpaceToDepth(OpContext& c) {
  const ValueId x = c.In(0);
  const int64_t s = BlockSize(c, x);
  if (!c.ok()) return;
  const Dims d = c.b.DimsOf(x);
  if (d[2] % s != 0 || d[3] % s != 0) return c.Fail("blocksize does not divide the image");
  const ValueId blocks = c.b.Reshape(x, {d[0], d[1], d[2] / s, s, d[3] / s, s});
  const ValueId y = c.b.Transpose(blocks, {0, 3, 5, 1, 2, 4});
  c.Out(c.b.Reshape(y, {d[0], d[1] * s * s, d[2] / s, d[3] / s}));
}

constexpr OpRow kReshapeRows[] = {
    {"DepthToSpace", DepthToSpace, 1, 1},
    {"Expand", Expand, 2, 1},
    {"Flatten", Flatten, 1, 1},
    {"Reshape", Reshape, 2, 1},
    {"SpaceToDepth", SpaceToDepth, 1, 1},
    {"Squeeze", Squeeze, 2, 1},
    {"Tile", Tile, 3, 1},
    {"Transpose", Transpose, 1, 1},
    {"Unsqueeze", Unsqueeze, 2, 1},
};

}  // namespace

std::span<const OpRow> ReshapeOps() { return kReshapeRows; }

}  // namespace mlc::graph::onnx
