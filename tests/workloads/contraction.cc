#include "tests/workloads/contraction.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "tests/workloads/draw.h"

namespace mlc::schedule {
namespace {

using graph::Graph;
using graph::Op;
using graph::TensorType;
using graph::Value;
using graph::ValueId;

// Dense, channels-last, or any order of dimensions with gaps between them.
TensorType Laid(Rng& rng, DType dtype, std::vector<int64_t> dims) {
  TensorType type{dtype, dims, {}};
  const auto kind = rng.Below(4);
  if (kind == 0) return type;
  if (kind <= 2 && dims.size() >= 3) {
    type.strides = graph::ChannelsLastStrides(dims);
    return type;
  }
  std::vector<size_t> order(dims.size());
  std::iota(order.begin(), order.end(), size_t{0});
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng.Below(i)]);
  type.strides.assign(dims.size(), 0);
  int64_t stride = 1;
  for (size_t d : order) {
    type.strides[d] = stride;
    stride = stride * dims[d] + Between(rng, 0, 2);
  }
  return type;
}

ValueId Source(Graph& g, Op op, TensorType type) {
  Value value;
  value.op = op;
  value.type = std::move(type);
  return g.Add(std::move(value));
}

DType RandomType(Rng& rng) {
  if (Chance(rng, 80)) return DType::kF32;
  return Chance(rng, 50) ? DType::kF16 : DType::kBF16;
}

// Pointwise nodes after the anchor: bias, residual, activation; sometimes two outputs.
graph::Workload Finish(Rng& rng, Graph g, ValueId anchor, int column_dim, double tolerance) {
  const TensorType out = g[anchor].type;
  ValueId value = anchor;
  const auto then = [&](ScalarOp op, std::vector<ValueId> operands) {
    value = g.Pointwise(op, std::move(operands));
    g[value].type.strides = out.strides;
  };
  if (Chance(rng, 60)) {
    std::vector<int64_t> dims(out.dims.size() - static_cast<size_t>(column_dim), 1);
    dims[0] = out.dims[static_cast<size_t>(column_dim)];
    then(ScalarOp::kAdd, {value, Source(g, Op::kWeight, {out.dtype, dims, {}})});
  }
  if (Chance(rng, 30)) {
    then(ScalarOp::kAdd, {value, Source(g, Op::kInput, Laid(rng, out.dtype, out.dims))});
  }
  const ValueId before = value;
  if (Chance(rng, 40)) then(ScalarOp::kMax, {value, g.Splat(out.dtype, 0)});
  if (Chance(rng, 20)) then(ScalarOp::kMul, {value, value});
  g.outputs() = {value};
  if (value != before && Chance(rng, 20)) g.outputs().push_back(before);
  auto workload = graph::Workload::Create(std::move(g), tolerance);
  MLC_CHECK(workload.ok()) << workload.status().ToString();
  return *workload;
}

// Sums of products of bytes: less a number a column, scaled to floats, quantised again, or not.
graph::Workload FinishBytes(Rng& rng, Graph g, ValueId anchor, int column_dim) {
  const TensorType out = g[anchor].type;
  std::vector<int64_t> dims(out.dims.size() - static_cast<size_t>(column_dim), 1);
  dims[0] = out.dims[static_cast<size_t>(column_dim)];
  ValueId value = anchor;
  const auto laid = [&](ValueId id) {
    g[id].type.strides = out.strides;
    return id;
  };
  const auto then = [&](ScalarOp op, ValueId with) {
    value = laid(g.Pointwise(op, {value, with}));
  };
  const auto cast = [&](DType dtype) {
    Value node;
    node.op = Op::kCast;
    node.operands = {value};
    node.type = {dtype, out.dims, out.strides};
    value = g.Add(std::move(node));
  };
  if (Chance(rng, 50)) then(ScalarOp::kSub, Source(g, Op::kWeight, {DType::kI32, dims, {}}));
  if (Chance(rng, 80)) {
    cast(DType::kF32);
    then(ScalarOp::kMul, g.Splat(DType::kF32, 0x1p-9));
    if (Chance(rng, 50)) then(ScalarOp::kMax, g.Splat(DType::kF32, 0));
    if (Chance(rng, 60)) {
      value = laid(g.Pointwise(ScalarOp::kRound, {value}));
      then(ScalarOp::kAdd, g.Splat(DType::kF32, 3));
      then(ScalarOp::kMin, g.Splat(DType::kF32, 120));
      then(ScalarOp::kMax, g.Splat(DType::kF32, 0));
      cast(Chance(rng, 50) ? DType::kU8 : DType::kI8);
    }
  }
  g.outputs() = {value};
  auto workload = graph::Workload::Create(std::move(g), 1e-6);
  MLC_CHECK(workload.ok()) << workload.status().ToString();
  return *workload;
}

// Of the columns and of the result, for rows of a type.
DType ColumnType(DType rows) { return rows == DType::kU8 ? DType::kI8 : rows; }
DType ResultType(DType rows) { return rows == DType::kU8 ? DType::kI32 : rows; }

struct Axis {
  int64_t in, kernel, stride, dilation, begin, end, out;
};

Axis RandomAxis(Rng& rng, int64_t limit) {
  for (;;) {
    Axis a{Between(rng, 1, limit),
           Between(rng, 1, 4),
           Between(rng, 1, 3),
           Between(rng, 1, 2),
           Between(rng, 0, 3),
           Between(rng, 0, 3),
           0};
    if (Chance(rng, 35)) a = {a.in, 1, 1, 1, 0, 0, 0};
    const int64_t span = a.in + a.begin + a.end - a.dilation * (a.kernel - 1) - 1;
    if (span < 0) continue;
    a.out = span / a.stride + 1;
    return a;
  }
}

Graph Convolution(Rng& rng, int64_t batch, int64_t group, int64_t depth, int64_t columns,
                  const std::vector<Axis>& axes, DType dtype, int weight_percent, ValueId* anchor) {
  std::vector<int64_t> x = {batch, group * depth};
  std::vector<int64_t> w = {group * columns, depth};
  std::vector<int64_t> y = {batch, group * columns};
  std::vector<int64_t> strides, dilations, begins, ends;
  for (const Axis& a : axes) {
    x.push_back(a.in);
    w.push_back(a.kernel);
    y.push_back(a.out);
    strides.push_back(a.stride);
    dilations.push_back(a.dilation);
    begins.push_back(a.begin);
    ends.push_back(a.end);
  }
  begins.insert(begins.end(), ends.begin(), ends.end());
  Graph g;
  Value conv;
  conv.op = Op::kConv;
  conv.operands = {Source(g, Op::kInput, Laid(rng, dtype, x)),
                   Source(g, Chance(rng, weight_percent) ? Op::kWeight : Op::kInput,
                          {ColumnType(dtype), w, {}})};
  conv.attrs = {{"strides", strides}, {"pads", begins}, {"dilations", dilations}, {"group", group}};
  conv.type = Laid(rng, ResultType(dtype), y);
  *anchor = g.Add(std::move(conv));
  return g;
}

graph::Workload RandomConvolution(Rng& rng) {
  const int64_t spatial = Chance(rng, 70) ? 2 : Chance(rng, 50) ? 1 : 3;
  std::vector<Axis> axes;
  for (int64_t s = 0; s < spatial; ++s) axes.push_back(RandomAxis(rng, spatial == 3 ? 5 : 12));
  if (Chance(rng, 25)) {
    for (Axis& a : axes) a = {a.in, 1, 1, 1, 0, 0, a.in};
  }
  const int64_t group = Chance(rng, 75) ? 1 : Between(rng, 2, 3);
  ValueId anchor = 0;
  Graph g = Convolution(rng, Chance(rng, 70) ? 1 : 2, group, Between(rng, 1, 20),
                        Between(rng, 1, 40), axes, RandomType(rng), 85, &anchor);
  return Finish(rng, std::move(g), anchor, 1, 1e-4);
}

graph::Workload RandomProduct(Rng& rng) {
  const int64_t m = Chance(rng, 25) ? 1 : Between(rng, 2, 40);
  const int64_t n = Chance(rng, 15) ? 1 : Between(rng, 2, 70);
  const int64_t k = Between(rng, 1, 40);
  std::vector<int64_t> a = {m, k}, b = {k, n}, y = {m, n};
  for (int64_t r = Between(rng, 0, 2); r > 0; --r) {
    const int64_t extent = Between(rng, 1, 3);
    const bool in_a = Chance(rng, 80);
    const bool in_b = !in_a || Chance(rng, 50);
    a.insert(a.begin(), in_a ? extent : 1);
    b.insert(b.begin(), in_b ? extent : 1);
    y.insert(y.begin(), extent);
  }
  const DType dtype = RandomType(rng);
  Graph g;
  Value product;
  product.op = Op::kMatMul;
  product.operands = {Source(g, Chance(rng, 90) ? Op::kInput : Op::kWeight, Laid(rng, dtype, a)),
                      Source(g, Chance(rng, 50) ? Op::kWeight : Op::kInput, Laid(rng, dtype, b))};
  product.type = Laid(rng, dtype, y);
  const int column_dim = static_cast<int>(y.size()) - 1;
  const ValueId anchor = g.Add(std::move(product));
  return Finish(rng, std::move(g), anchor, column_dim, 1e-4);
}

}  // namespace

graph::Workload RandomContraction(Rng& rng) {
  return Chance(rng, 60) ? RandomConvolution(rng) : RandomProduct(rng);
}

graph::Workload RandomPackedProduct(Rng& rng) {
  const int64_t bits = int64_t{2} << rng.Below(3);
  const int64_t a_byte = 8 / bits;
  const int64_t blocks_of[] = {16, 32, 64, 128, a_byte * Between(rng, 1, 12)};
  const int64_t block = blocks_of[rng.Below(5)];
  const int64_t depth = Chance(rng, 50) ? block * Between(rng, 1, 8) : Between(rng, 1, 300);
  const int64_t rows = Chance(rng, 40) ? Between(rng, 1, 4) : Between(rng, 5, 70);
  const int64_t columns = Between(rng, 1, 90);
  const int64_t blocks = (depth + block - 1) / block;
  const int64_t bytes = Chance(rng, 50) ? (depth + a_byte - 1) / a_byte : blocks * block / a_byte;
  const DType type = RandomType(rng);
  const DType scale_type = RandomType(rng);
  Graph g;
  const ValueId x = Source(g, Op::kInput, Laid(rng, type, {rows, depth}));
  Value matrix;
  matrix.op = Op::kDequantize;
  matrix.operands = {Source(g, Op::kWeight, {DType::kU8, {columns, bytes}, {}}),
                     Source(g, Op::kWeight, {scale_type, {columns, blocks}, {}})};
  if (Chance(rng, 50)) {
    const DType zero_type = Chance(rng, 50) ? DType::kU8 : scale_type;
    matrix.operands.push_back(Source(g, Op::kWeight, {zero_type, {columns, blocks}, {}}));
  }
  matrix.attrs["bits"] = bits;
  matrix.attrs["block"] = block;
  matrix.attrs["depth"] = depth;
  matrix.attrs["zero"] = Chance(rng, 50) ? int64_t{1} << (bits - 1) : Between(rng, 0, 255);
  matrix.type = {type, {depth, columns}, {}};
  Value product;
  product.op = Op::kMatMul;
  product.operands = {x, g.Add(std::move(matrix))};
  product.type = Laid(rng, type, {rows, columns});
  const ValueId anchor = g.Add(std::move(product));
  return Finish(rng, std::move(g), anchor, 1, 1e-4);
}

graph::Workload RandomByteProduct(Rng& rng) {
  const int64_t depth = 4 * Between(rng, 1, Chance(rng, 70) ? 8 : 80);
  const int64_t columns = Between(rng, 1, 70);
  ValueId anchor = 0;
  if (Chance(rng, 50)) {
    const std::vector<Axis> axes = {RandomAxis(rng, 8), RandomAxis(rng, 8)};
    Graph g = Convolution(rng, Chance(rng, 70) ? 1 : 2, Chance(rng, 80) ? 1 : 2, depth, columns + 1,
                          axes, DType::kU8, 85, &anchor);
    return FinishBytes(rng, std::move(g), anchor, 1);
  }
  const int64_t rows = Chance(rng, 20) ? 1 : Between(rng, 2, 40);
  Graph g;
  Value product;
  product.op = Op::kMatMul;
  product.operands = {Source(g, Op::kInput, Laid(rng, DType::kU8, {rows, depth})),
                      Source(g, Chance(rng, 80) ? Op::kWeight : Op::kInput,
                             Laid(rng, DType::kI8, {depth, columns}))};
  product.type = Laid(rng, DType::kI32, {rows, columns});
  anchor = g.Add(std::move(product));
  return FinishBytes(rng, std::move(g), anchor, 1);
}

graph::Workload RandomDeepContraction(Rng& rng) {
  const int64_t depth = 128 * Between(rng, 2, 4);
  const int64_t columns = Between(rng, 64, 140);
  ValueId anchor = 0;
  if (Chance(rng, 50)) {
    std::vector<Axis> axes;
    for (int i = 0; i < 2; ++i) {
      const int64_t in = Between(rng, 3, 7);
      const int64_t stride = Chance(rng, 25) ? 2 : 1;
      axes.push_back({in, 1, stride, 1, 0, 0, (in - 1) / stride + 1});
    }
    Graph g = Convolution(rng, Chance(rng, 80) ? 1 : 2, 1, depth, columns, axes, DType::kF32, 100,
                          &anchor);
    return Finish(rng, std::move(g), anchor, 1, 1e-4);
  }
  const int64_t rows = Between(rng, 8, 40);
  Graph g;
  Value product;
  product.op = Op::kMatMul;
  product.operands = {Source(g, Op::kInput, Laid(rng, DType::kF32, {rows, depth})),
                      Source(g, Op::kWeight, Laid(rng, DType::kF32, {depth, columns}))};
  product.type = Laid(rng, DType::kF32, {rows, columns});
  anchor = g.Add(std::move(product));
  return Finish(rng, std::move(g), anchor, 1, 1e-4);
}

graph::Workload RandomDepthwise(Rng& rng) {
  const std::vector<Axis> axes = {RandomAxis(rng, 12), RandomAxis(rng, 12)};
  ValueId anchor = 0;
  Graph g = Convolution(rng, Chance(rng, 70) ? 1 : 2, Between(rng, 2, 40), 1, 1, axes,
                        RandomType(rng), 85, &anchor);
  return Finish(rng, std::move(g), anchor, 1, 1e-4);
}

graph::Workload RandomByteFilters(Rng& rng) {
  const int64_t spatial = Chance(rng, 75) ? 2 : Chance(rng, 50) ? 1 : 3;
  std::vector<Axis> axes;
  for (int64_t s = 0; s < spatial; ++s) axes.push_back(RandomAxis(rng, spatial == 3 ? 5 : 12));
  if (Chance(rng, 30)) {
    // More taps than a word has bytes.
    const int64_t taps = Between(rng, 5, 9), in = Between(rng, 5, 12);
    axes[axes.size() - 1 - (spatial > 1 ? 1 : 0)] = {in, taps, 1, 1, 2, 2, in + 5 - taps};
  }
  ValueId anchor = 0;
  Graph g = Convolution(rng, Chance(rng, 70) ? 1 : 2, Between(rng, 2, 70), 1, 1, axes, DType::kU8,
                        85, &anchor);
  return FinishBytes(rng, std::move(g), anchor, 1);
}

graph::Workload RandomNarrowGroups(Rng& rng) {
  const std::vector<Axis> axes = {RandomAxis(rng, 12), RandomAxis(rng, 12)};
  const int64_t width = int64_t{1} << Between(rng, 1, 4);
  ValueId anchor = 0;
  Graph g = Convolution(rng, Chance(rng, 70) ? 1 : 2, Between(rng, 2, 6), width, width, axes,
                        RandomType(rng), 85, &anchor);
  return Finish(rng, std::move(g), anchor, 1, 1e-4);
}

graph::Workload RandomWinograd(Rng& rng) {
  std::vector<Axis> axes;
  for (int i = 0; i < 2; ++i) {
    Axis a{Between(rng, 13, 17), 3, 1, 1, Between(rng, 0, 1), Between(rng, 0, 1), 0};
    a.out = a.in + a.begin + a.end - 2;
    axes.push_back(a);
  }
  ValueId anchor = 0;
  Graph g = Convolution(rng, Chance(rng, 70) ? 1 : 2, 1, Between(rng, 16, 35), Between(rng, 16, 40),
                        axes, DType::kF32, 100, &anchor);
  return Finish(rng, std::move(g), anchor, 1, 1e-3);
}

}  // namespace mlc::schedule
