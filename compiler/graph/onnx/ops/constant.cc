// Operators whose results are known at import: constants, and the shapes of values.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "compiler/graph/onnx/axes.h"
#include "compiler/graph/onnx/tables.h"
#include "compiler/graph/onnx/tensor.h"
#include "compiler/graph/tensor_io.h"

namespace mlc::graph::onnx {
namespace {

constexpr int64_t kMaxRange = int64_t{1} << 24;

void Constant(OpContext& c) {
  if (c.HasAttr("value")) {
    const TensorDataRef data = c.Tensor("value");
    if (data != nullptr) c.Out(c.b.Constant(data));
  } else if (c.HasAttr("value_int")) {
    c.Out(c.b.IntScalar(c.Int("value_int", 0)));
  } else if (c.HasAttr("value_ints")) {
    c.Out(c.b.IntVector(c.Ints("value_ints")));
  } else if (c.HasAttr("value_float")) {
    c.Out(c.b.FloatTensor(DType::kF32, {}, {c.Float("value_float", 0)}));
  } else if (c.HasAttr("value_floats")) {
    const std::vector<double> values = c.Floats("value_floats");
    c.Out(c.b.FloatTensor(DType::kF32, {static_cast<int64_t>(values.size())}, values));
  } else {
    c.Unsupported("a constant that is not a dense tensor of numbers");
  }
}

void ConstantOfShape(OpContext& c) {
  const Dims dims = c.IntsIn(0);
  ValueId fill = kNoValue;
  if (c.HasAttr("value")) {
    const TensorDataRef data = c.Tensor("value");
    if (data == nullptr) return;
    fill = c.b.Reshape(c.b.Constant(data), {});
  } else {
    fill = c.b.Scalar(DType::kF32, 0);
  }
  c.Out(c.b.Expand(fill, dims));
}

void Shape(OpContext& c) {
  const Dims& dims = c.b.DimsOf(c.In(0));
  const int64_t rank = static_cast<int64_t>(dims.size());
  const auto clamp = [&](int64_t at) {
    if (at < 0) at = at < -rank ? 0 : at + rank;
    return std::min(at, rank);
  };
  const int64_t start = clamp(c.Int("start", 0));
  const int64_t end = std::max(clamp(c.Int("end", rank)), start);
  c.Out(c.b.IntVector(Dims(dims.begin() + start, dims.begin() + end)));
}

void Size(OpContext& c) { c.Out(c.b.IntScalar(c.b.TypeOf(c.In(0)).NumElements())); }

void RangeOfInts(OpContext& c, DType dtype) {
  const Dims start = c.IntsIn(0);
  const Dims limit = c.IntsIn(1);
  const Dims delta = c.IntsIn(2);
  if (!c.ok()) return;
  if (start.size() != 1 || limit.size() != 1 || delta.size() != 1) {
    return c.Fail("operands must be scalars");
  }
  if (delta[0] == 0) return c.Fail("a range's step is zero");
  const long double span = static_cast<long double>(limit[0]) - static_cast<long double>(start[0]);
  const long double count = std::ceil(span / static_cast<long double>(delta[0]));
  if (count > static_cast<long double>(kMaxRange)) return c.Fail("a range is too long");
  Dims values(count > 0 ? static_cast<size_t>(count) : 0);
  if (delta[0] == 1) {
    std::iota(values.begin(), values.end(), 0);
    return c.Out(c.b.Cast(CountedFrom(c.b, c.b.IntVector(values), start[0]), dtype));
  }
  int64_t next = start[0];
  for (int64_t& value : values) {
    value = next;
    if (__builtin_add_overflow(next, delta[0], &next)) next = limit[0];
  }
  c.Out(c.b.Cast(c.b.IntVector(values), dtype));
}

void RangeOfFloats(OpContext& c, DType dtype) {
  const std::vector<double> start = c.b.Floats(c.In(0), "operand 0");
  const std::vector<double> limit = c.b.Floats(c.In(1), "operand 1");
  const std::vector<double> delta = c.b.Floats(c.In(2), "operand 2");
  if (!c.ok()) return;
  if (start.size() != 1 || limit.size() != 1 || delta.size() != 1) {
    return c.Fail("operands must be scalars");
  }
  if (delta[0] == 0) return c.Fail("a range's step is zero");
  const double count = std::ceil((limit[0] - start[0]) / delta[0]);
  if (!(count <= static_cast<double>(kMaxRange))) return c.Fail("a range is too long");
  std::vector<double> values(count > 0 ? static_cast<size_t>(count) : 0);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = start[0] + static_cast<double>(i) * delta[0];
  }
  const Dims dims = {static_cast<int64_t>(values.size())};
  c.Out(c.b.FloatTensor(dtype, dims, values));
}

void Range(OpContext& c) {
  const DType dtype = c.b.DTypeOf(c.In(0));
  if (IsFloat(dtype)) return RangeOfFloats(c, dtype);
  RangeOfInts(c, dtype);
}

// Rows and columns counted by ranges and compared: ones where column - row = k.
void EyeLike(OpContext& c) {
  Builder& b = c.b;
  const ValueId x = c.In(0);
  DType dtype = b.DTypeOf(x);
  if (c.HasAttr("dtype")) {
    const int64_t wanted = c.Int("dtype", 0);
    const Result<DType> named =
        DTypeOf(wanted < 0 || wanted > INT32_MAX ? -1 : static_cast<int32_t>(wanted));
    if (!named.ok()) return (void)b.Fail(named.status());
    dtype = *named;
  }
  if (b.RankOf(x) != 2) return c.Fail("the operand must be a matrix");
  const int64_t rows = b.Dim(x, 0);
  const int64_t columns = b.Dim(x, 1);
  const int64_t k = c.Int("k", 0);
  if (rows > kMaxRange || columns > kMaxRange || k < -kMaxRange || k > kMaxRange) {
    return c.Fail("the matrix is too large");
  }
  Dims row(static_cast<size_t>(rows));
  Dims column(static_cast<size_t>(columns));
  for (int64_t i = 0; i < rows; ++i) row[static_cast<size_t>(i)] = i + k;
  for (int64_t i = 0; i < columns; ++i) column[static_cast<size_t>(i)] = i;
  const ValueId same =
      b.Apply(ScalarOp::kEqual, {b.Reshape(b.IntVector(row), {rows, 1}), b.IntVector(column)});
  c.Out(b.Cast(same, dtype));
}

// depth and values: [off, on]. The index is compared with 0..depth-1 along a new axis.
void OneHot(OpContext& c) {
  Builder& b = c.b;
  const ValueId indices = b.Cast(c.In(0), DType::kI64);
  const ValueId depth_operand = b.Cast(c.In(1), DType::kI64);
  const ValueId values = c.In(2);
  const Dims depth = b.Ints(depth_operand, "operand 1");
  const int64_t axis = Axis(c, c.Int("axis", -1), b.RankOf(indices) + 1);
  if (!c.ok()) return;
  if (depth.size() != 1 || depth[0] < 1 || depth[0] > kMaxRange) {
    return c.Fail("depth must be a positive scalar");
  }
  if (b.DimsOf(values) != Dims{2}) return c.Fail("values must have two elements");
  Dims classes(static_cast<size_t>(depth[0]));
  for (size_t i = 0; i < classes.size(); ++i) classes[i] = static_cast<int64_t>(i);
  Dims index_dims = b.DimsOf(indices);
  index_dims.insert(index_dims.begin() + axis, 1);
  Dims class_dims(index_dims.size(), 1);
  class_dims[static_cast<size_t>(axis)] = depth[0];
  const ValueId zero = b.IntScalar(0);
  const ValueId from_end = b.Plus(indices, b.IntScalar(depth[0]));
  const ValueId index = b.Select(b.Apply(ScalarOp::kLess, {indices, zero}), from_end, indices);
  const ValueId hit = b.Apply(ScalarOp::kEqual, {b.Reshape(index, index_dims),
                                                 b.Reshape(b.IntVector(classes), class_dims)});
  const ValueId off = b.Reshape(b.SliceAxis(values, 0, 0, 1), {});
  const ValueId on = b.Reshape(b.SliceAxis(values, 0, 1, 1), {});
  c.Out(b.Select(hit, on, off));
}

constexpr OpRow kConstantRows[] = {
    {"Constant", Constant, 0, 1}, {"ConstantOfShape", ConstantOfShape, 1, 1},
    {"EyeLike", EyeLike, 1, 1},   {"OneHot", OneHot, 3, 1},
    {"Range", Range, 3, 1},       {"Shape", Shape, 1, 1},
    {"Size", Size, 1, 1},
};

}  // namespace

std::span<const OpRow> ConstantOps() { return kConstantRows; }

}  // namespace mlc::graph::onnx
