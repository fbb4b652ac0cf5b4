// Sampling at computed places: GridSample and AffineGrid. A sample is a weighted sum of
// gathers from the flattened image; what lies outside of it has weight zero.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "compiler/graph/onnx/tables.h"

namespace mlc::graph::onnx {
namespace {

constexpr int64_t kMaxSide = int64_t{1} << 24;

// One corner of a sample along one axis: the whole coordinate and its weight (kNoValue: one).
struct Tap {
  ValueId at = kNoValue;
  ValueId weight = kNoValue;
};

struct Grid {
  std::string mode;     // linear, nearest, cubic
  std::string padding;  // zeros, border, reflection
  bool align_corners = false;
};

ValueId Bounded(Builder& b, ValueId x, double low, double high) {
  return b.Min(b.Max(x, b.ScalarLike(x, low)), b.ScalarLike(x, high));
}

ValueId Floor(Builder& b, ValueId x) { return b.Apply(ScalarOp::kFloor, {x}); }

// The coordinate mirrored at both borders until it lies between them.
ValueId Reflect(Builder& b, ValueId x, double low, double high) {
  const double span = high - low;
  if (span <= 0) return b.TimesNumber(x, 0.0);
  const ValueId off = b.Apply(ScalarOp::kAbs, {b.PlusNumber(x, -low)});
  const ValueId periods = Floor(b, b.TimesNumber(off, 0.5 / span));
  const ValueId rest = b.Minus(off, b.TimesNumber(periods, 2 * span));
  // A triangle of height `span`.
  const ValueId down = b.Plus(b.Apply(ScalarOp::kNeg, {rest}), b.ScalarLike(x, 2 * span));
  return b.PlusNumber(b.Min(rest, down), low);
}

// Moves whole coordinates into the image; for zeros the weight tells whether they were there.
Tap Settle(Builder& b, const Grid& grid, Tap tap, int64_t size) {
  const double last = static_cast<double>(size - 1);
  if (grid.padding == "zeros") {
    const ValueId inside = b.Apply(
        ScalarOp::kAnd, {b.Apply(ScalarOp::kLessEqual, {b.ScalarLike(tap.at, 0), tap.at}),
                         b.Apply(ScalarOp::kLessEqual, {tap.at, b.ScalarLike(tap.at, last)})});
    const ValueId weight = tap.weight == kNoValue ? b.ScalarLike(tap.at, 1) : tap.weight;
    tap.weight = b.Select(inside, weight, b.ScalarLike(weight, 0));
  } else if (grid.padding == "reflection") {
    tap.at =
        grid.align_corners ? Reflect(b, tap.at, 0, last) : Reflect(b, tap.at, -0.5, last + 0.5);
  }
  tap.at = Bounded(b, tap.at, 0, last);
  return tap;
}

// Keys' cubic at distance d <= 1 and at 1 + d.
ValueId Near(Builder& b, ValueId d) {
  constexpr double a = -0.75;
  const ValueId square = b.Times(d, d);
  return b.PlusNumber(b.Times(b.PlusNumber(b.TimesNumber(d, a + 2), -(a + 3)), square), 1.0);
}

ValueId Far(Builder& b, ValueId d) {
  constexpr double a = -0.75;
  const ValueId x = b.PlusNumber(d, 1.0);
  const ValueId inner = b.PlusNumber(b.TimesNumber(x, a), -5 * a);
  return b.PlusNumber(b.Times(b.PlusNumber(b.Times(inner, x), 8 * a), x), -4 * a);
}

std::vector<Tap> TapsOf(Builder& b, const Grid& grid, ValueId x, int64_t size) {
  // From [-1, 1] to pixels.
  const double n = static_cast<double>(size);
  x = grid.align_corners ? b.TimesNumber(b.PlusNumber(x, 1.0), (n - 1) / 2)
                         : b.PlusNumber(b.TimesNumber(b.PlusNumber(x, 1.0), n / 2), -0.5);
  if (grid.mode != "cubic") {
    if (grid.padding == "border") x = Bounded(b, x, 0, n - 1);
    if (grid.padding == "reflection") {
      x = grid.align_corners ? Reflect(b, x, 0, n - 1) : Reflect(b, x, -0.5, n - 0.5);
      x = Bounded(b, x, 0, n - 1);
    }
  }
  // Beyond every image, and not a number: far outside.
  x = Bounded(b, x, -static_cast<double>(kMaxSide), 2.0 * static_cast<double>(kMaxSide));
  std::vector<Tap> taps;
  if (grid.mode == "nearest") {
    taps = {{b.Apply(ScalarOp::kRound, {x}), kNoValue}};
  } else {
    const ValueId first = Floor(b, x);
    const ValueId up = b.Minus(x, first);
    const ValueId down = b.Minus(b.ScalarLike(up, 1), up);
    const ValueId second = b.PlusNumber(first, 1.0);
    if (grid.mode == "linear") {
      taps = {{first, down}, {second, up}};
    } else {
      taps = {{b.PlusNumber(first, -1.0), Far(b, up)},
              {first, Near(b, up)},
              {second, Near(b, down)},
              {b.PlusNumber(first, 2.0), Far(b, down)}};
    }
  }
  for (Tap& tap : taps) tap = Settle(b, grid, tap, size);
  return taps;
}

ValueId Product(Builder& b, ValueId x, ValueId y) {
  return x == kNoValue ? y : y == kNoValue ? x : b.Times(x, y);
}

// `at` and `weight` have dims [N, samples]; `image` has [N, C, places].
ValueId GatherWeighted(Builder& b, ValueId image, ValueId at, ValueId weight) {
  const Dims d = b.DimsOf(image);
  const int64_t samples = b.Dim(at, 1);
  Value gather;
  gather.op = Op::kGatherElements;
  gather.operands = {image, b.Expand(b.Reshape(b.Cast(at, DType::kI64), {d[0], 1, samples}),
                                     {d[0], d[1], samples})};
  gather.attrs["axis"] = int64_t{2};
  const ValueId value = b.Add(std::move(gather));
  if (weight == kNoValue) return value;
  return b.Times(value, b.Cast(b.Reshape(weight, {d[0], 1, samples}), b.DTypeOf(image)));
}

Grid ReadGrid(OpContext& c) {
  Grid grid;
  grid.mode = c.Text("mode", c.opset() < 20 ? "bilinear" : "linear");
  if (grid.mode == "bilinear") grid.mode = "linear";
  if (grid.mode == "bicubic") grid.mode = "cubic";
  grid.padding = c.Text("padding_mode", "zeros");
  grid.align_corners = c.Flag("align_corners", false);
  if (grid.mode != "linear" && grid.mode != "nearest" && grid.mode != "cubic") {
    c.Fail("the mode must be linear, nearest or cubic");
  }
  if (grid.padding != "zeros" && grid.padding != "border" && grid.padding != "reflection") {
    c.Fail("padding_mode must be zeros, border or reflection");
  }
  return grid;
}

// Every combination of one tap an axis, summed.
ValueId SumOfTaps(Builder& b, ValueId image, const std::vector<std::vector<Tap>>& axes,
                  const Dims& sizes) {
  size_t combinations = 1;
  for (const std::vector<Tap>& taps : axes) combinations *= taps.size();
  ValueId sum = kNoValue;
  for (size_t i = 0; i < combinations && b.ok(); ++i) {
    ValueId at = kNoValue;
    ValueId weight = kNoValue;
    size_t rest = i;
    for (size_t axis = 0; axis < axes.size(); ++axis) {
      const Tap& tap = axes[axis][rest % axes[axis].size()];
      rest /= axes[axis].size();
      const ValueId whole = b.Cast(tap.at, DType::kI64);
      at = axis == 0 ? whole : b.Plus(b.Times(at, b.IntScalar(sizes[axis])), whole);
      weight = Product(b, weight, tap.weight);
    }
    const ValueId part = GatherWeighted(b, image, at, weight);
    sum = sum == kNoValue ? part : b.Plus(sum, part);
  }
  return sum;
}

void GridSample(OpContext& c) {
  Builder& b = c.b;
  const ValueId x = c.In(0);
  const ValueId places = c.In(1);
  const Grid grid = ReadGrid(c);
  if (!c.ok()) return;
  const Dims d = b.DimsOf(x);
  const Dims g = b.DimsOf(places);
  if (d.size() < 3 || g.size() != d.size() || g[0] != d[0] ||
      g.back() != static_cast<int64_t>(d.size()) - 2) {
    return c.Fail("the grid does not fit the image");
  }
  const size_t rank = d.size() - 2;
  Dims sizes(d.begin() + 2, d.end());
  for (const int64_t size : sizes) {
    if (size < 1 || size > kMaxSide) return c.Fail("the image is empty or too large");
  }
  Dims dims = {d[0], d[1]};
  dims.insert(dims.end(), g.begin() + 1, g.end() - 1);
  const int64_t samples = std::accumulate(g.begin() + 1, g.end() - 1, int64_t{1},
                                          [](int64_t a, int64_t n) { return a * n; });
  const ValueId flat =
      b.Reshape(b.Cast(places, DType::kF32), {d[0], samples, static_cast<int64_t>(rank)});
  std::vector<std::vector<Tap>> axes;
  for (size_t i = 0; i < rank && c.ok(); ++i) {
    // The grid names the innermost axis first.
    const ValueId along =
        b.Reshape(b.SliceAxis(flat, 2, static_cast<int64_t>(rank - 1 - i), 1), {d[0], samples});
    axes.push_back(TapsOf(b, grid, along, sizes[i]));
  }
  const int64_t area = std::accumulate(sizes.begin(), sizes.end(), int64_t{1},
                                       [](int64_t a, int64_t n) { return a * n; });
  const ValueId image = b.Reshape(x, {d[0], d[1], area});
  c.Out(b.Reshape(SumOfTaps(b, image, axes, sizes), dims));
}

// The places of pixels, in [-1, 1], times the matrix of each image.
void AffineGrid(OpContext& c) {
  Builder& b = c.b;
  const ValueId theta = c.In(0);
  const Dims size = c.IntsIn(1);
  const bool align = c.Flag("align_corners", false);
  if (!c.ok()) return;
  const size_t rank = size.size() < 4 ? 0 : size.size() - 2;
  if ((rank != 2 && rank != 3) || b.DimsOf(theta) != Dims{size[0], static_cast<int64_t>(rank),
                                                          static_cast<int64_t>(rank) + 1}) {
    return c.Fail("theta does not fit the size");
  }
  Dims dims(size.begin() + 2, size.end());
  int64_t area = 1;
  for (const int64_t n : dims) {
    if (n < 1 || n > kMaxSide || area > kMaxSide) return c.Fail("the size is out of range");
    area *= n;
  }
  const DType type = b.DTypeOf(theta);
  std::vector<ValueId> columns;
  for (size_t i = rank; i-- > 0;) {
    std::vector<double> line;
    const double n = static_cast<double>(dims[i]);
    for (int64_t k = 0; k < dims[i]; ++k) {
      const double at = static_cast<double>(k);
      line.push_back(align ? (n > 1 ? 2 * at / (n - 1) - 1 : 0) : (2 * at + 1) / n - 1);
    }
    Dims shape(rank, 1);
    shape[i] = dims[i];
    const ValueId wide = b.Expand(b.FloatTensor(type, shape, line), dims);
    columns.push_back(b.Reshape(wide, {1, area, 1}));
  }
  columns.push_back(b.Expand(b.Scalar(type, 1), {1, area, 1}));
  const ValueId grid = b.MatMul(b.Concat(columns, 2), b.Transpose(theta, {0, 2, 1}));
  dims.insert(dims.begin(), size[0]);
  dims.push_back(static_cast<int64_t>(rank));
  c.Out(b.Reshape(grid, dims));
}

constexpr OpRow kGridSampleRows[] = {{"AffineGrid", AffineGrid, 2, 1},
                                     {"GridSample", GridSample, 2, 1}};

}  // namespace

std::span<const OpRow> GridSampleOps() { return kGridSampleRows; }

}  // namespace mlc::graph::onnx
