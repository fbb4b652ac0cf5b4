#include "compiler/graph/byte_product.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "compiler/graph/shape.h"
#include "compiler/graph/tensor_io.h"

namespace mlc::graph {

namespace {

using Dims = std::vector<int64_t>;

constexpr int64_t kWordBytes = 4;
constexpr int64_t kLeastChannels = 3;  // fewer fill less than half of a word

bool IsByte(DType dtype) { return dtype == DType::kU8 || dtype == DType::kI8; }

bool IsScalarOp(const Value& node, ScalarOp op) {
  return node.op == Op::kPointwise && node.scalar == op;
}

ValueId Add(Graph& graph, Op op, std::vector<ValueId> operands, Attrs attrs = {}) {
  Value node;
  node.op = op;
  node.operands = std::move(operands);
  node.attrs = std::move(attrs);
  return *AddInferred(graph, std::move(node));
}

ValueId Cast(Graph& graph, ValueId x, DType dtype) {
  Value node;
  node.op = Op::kCast;
  node.operands = {x};
  node.type = {dtype, graph[x].type.dims, {}};
  return *AddInferred(graph, std::move(node));
}

ValueId Reshape(Graph& graph, ValueId x, Dims dims) {
  if (graph[x].type.dims == dims) return x;
  Value node;
  node.op = Op::kReshape;
  node.operands = {x};
  node.type = {graph[x].type.dtype, std::move(dims), {}};
  return *AddInferred(graph, std::move(node));
}

ValueId Integers(Graph& graph, DType dtype, Dims dims, const std::vector<int64_t>& values) {
  return graph.Constant(WriteInts(dtype, std::move(dims), values));
}

// The number that all elements of a constant equal.
std::optional<double> Number(const Graph& graph, ValueId id) {
  const TensorDataRef data = graph[id].op == Op::kConstant ? ConstantData(graph[id]) : nullptr;
  if (data == nullptr || data->bytes.empty()) return std::nullopt;
  const std::vector<double> values = ReadDoubles(*data);
  const auto same = [&](double value) { return value == values[0]; };
  if (!std::all_of(values.begin(), values.end(), same)) return std::nullopt;
  return values[0];
}

// Codes and their zero point.
struct Centred {
  ValueId codes = kNoValue;
  ValueId zero = kNoValue;  // none
};

std::optional<Centred> FindCentred(const Graph& graph, ValueId id) {
  Centred found;
  if (IsScalarOp(graph[id], ScalarOp::kSub)) {
    found.zero = graph[id].operands[1];
    id = graph[id].operands[0];
  }
  const Value& cast = graph[id];
  if (cast.op != Op::kCast || cast.type.dtype != DType::kF32) return std::nullopt;
  found.codes = cast.operands[0];
  if (!IsByte(graph[found.codes].type.dtype)) return std::nullopt;
  return found;
}

// Rows as u8, with what their zero point is then: a number, or an i32 scalar known at run time.
struct Rows {
  ValueId codes = kNoValue;
  std::optional<int64_t> zero = 0;
  ValueId late_zero = kNoValue;
};

std::optional<Rows> FindRows(Graph& graph, ValueId id) {
  const std::optional<Centred> found = FindCentred(graph, id);
  if (!found) return std::nullopt;
  Rows rows{found->codes};
  if (found->zero != kNoValue) {
    if (graph[found->zero].type.NumElements() != 1) return std::nullopt;
    const std::optional<double> zero = Number(graph, found->zero);
    rows.zero = zero ? std::optional<int64_t>(static_cast<int64_t>(*zero)) : std::nullopt;
    if (!zero) rows.late_zero = Reshape(graph, Cast(graph, found->zero, DType::kI32), {});
  }
  if (graph[rows.codes].type.dtype == DType::kU8) return rows;
  const auto shifted = [&](ValueId x) {
    const ValueId offset = Integers(graph, DType::kI32, {}, {128});
    return graph.Pointwise(ScalarOp::kAdd, {x, offset});
  };
  rows.codes = Cast(graph, shifted(Cast(graph, rows.codes, DType::kI32)), DType::kU8);
  if (rows.zero) *rows.zero += 128;
  if (rows.late_zero != kNoValue) rows.late_zero = shifted(rows.late_zero);
  return rows;
}

// The operand of a transpose of two dimensions; `turned` changes with each.
ValueId BehindTranspose(const Graph& graph, ValueId id, bool* turned) {
  const Value& node = graph[id];
  if (node.op != Op::kTranspose || node.Ints("perm") != Dims{1, 0}) return id;
  *turned = !*turned;
  return node.operands[0];
}

// Weights minus their zero point, dense in dims; empty if they do not fit i8.
std::vector<int64_t> FindColumns(const Graph& graph, ValueId id, Dims* dims) {
  bool turned = false;
  const std::optional<Centred> found = FindCentred(graph, BehindTranspose(graph, id, &turned));
  if (!found) return {};
  const Value& codes = graph[BehindTranspose(graph, found->codes, &turned)];
  const TensorDataRef data = codes.op == Op::kConstant ? ConstantData(codes) : nullptr;
  const std::optional<double> zero = found->zero == kNoValue ? 0 : Number(graph, found->zero);
  if (data == nullptr || !zero) return {};
  std::vector<int64_t> values = ReadInts(*data);
  for (int64_t& value : values) value -= static_cast<int64_t>(*zero);
  const auto fits = [](int64_t value) { return value >= -128 && value <= 127; };
  if (!std::all_of(values.begin(), values.end(), fits)) return {};
  *dims = codes.type.dims;
  if (!turned) return values;
  const int64_t rows = (*dims)[0], columns = (*dims)[1];
  std::vector<int64_t> result(values.size());
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      result[static_cast<size_t>(c * rows + r)] = values[static_cast<size_t>(r * columns + c)];
    }
  }
  std::swap((*dims)[0], (*dims)[1]);
  return result;
}

bool HasKernel(const Graph& graph, const Value& product, bool filters) {
  const Dims& x = graph[product.operands[0]].type.dims;
  const Dims& w = graph[product.operands[1]].type.dims;
  if (product.type.dtype != DType::kF32 || product.type.NumElements() == 0) return false;
  if (product.op == Op::kMatMul) return w.size() == 2 && x.size() >= 2 && w[0] % kWordBytes == 0;
  if (product.op != Op::kConv || w.size() > 5) return false;
  const int64_t group = product.Int("group");
  if (group > 1) return filters && group == x[1] && group == w[0];
  return w[1] >= kLeastChannels;
}

// The sum of each column's bytes, of a conv of each filter's, shaped to multiply the result.
ValueId ColumnSums(Graph& graph, const Value& product, const Dims& dims,
                   const std::vector<int64_t>& columns) {
  const bool matmul = product.op == Op::kMatMul;
  const int64_t count = matmul ? dims[1] : dims[0];
  const int64_t depth = static_cast<int64_t>(columns.size()) / count;
  std::vector<int64_t> sums(static_cast<size_t>(count), 0);
  for (int64_t n = 0; n < count; ++n) {
    for (int64_t k = 0; k < depth; ++k) {
      sums[static_cast<size_t>(n)] +=
          columns[static_cast<size_t>(matmul ? k * count + n : n * depth + k)];
    }
  }
  Dims shape(matmul ? 1 : dims.size() - 1, 1);
  shape[0] = count;
  return Integers(graph, DType::kI32, shape, sums);
}

// Channels that a conv of one group lacks to words.
int64_t MissingChannels(const Value& product, const Dims& filters) {
  if (product.op != Op::kConv || product.Int("group") != 1) return 0;
  return (kWordBytes - filters[1] % kWordBytes) % kWordBytes;
}

// A conv reads zeros beyond the image's border: codes that stand for zero, unless these are 0. What
// `channels` more of them are does not matter: their filters are zero.
bool PadRows(Graph& graph, Value& product, Rows& rows, int64_t channels) {
  if (product.op != Op::kConv) return true;
  const Dims pads = product.Ints("pads");
  const bool inside = std::all_of(pads.begin(), pads.end(), [](int64_t pad) { return pad == 0; });
  const bool borders = !inside && rows.zero != 0;
  if (!borders && channels == 0) return true;
  if (borders && (!rows.zero || *rows.zero < 0 || *rows.zero > 255)) return false;
  const size_t spatial = pads.size() / 2;
  Dims all(2 * (spatial + 2), 0);
  all[spatial + 3] = channels;
  for (size_t i = 0; borders && i < spatial; ++i) {
    all[2 + i] = pads[i];
    all[spatial + 4 + i] = pads[spatial + i];
  }
  const double value = borders ? static_cast<double>(*rows.zero) : 0;
  rows.codes = Add(graph, Op::kPad, {rows.codes}, {{"pads", all}, {"value", value}});
  if (borders) product.attrs["pads"] = Dims(pads.size(), 0);
  return true;
}

// The filters with so many more channels of zeros.
void PadFilters(int64_t channels, Dims& dims, std::vector<int64_t>& columns) {
  if (channels == 0) return;
  const int64_t filters = dims[0];
  const int64_t before = static_cast<int64_t>(columns.size()) / filters;
  const int64_t after = before / dims[1] * (dims[1] + channels);
  std::vector<int64_t> padded(static_cast<size_t>(filters * after), 0);
  for (int64_t n = 0; n < filters; ++n) {
    std::copy_n(columns.begin() + n * before, before, padded.begin() + n * after);
  }
  dims[1] += channels;
  columns = std::move(padded);
}

}  // namespace

std::optional<ValueId> SumsOfBytes(Graph& graph, const Value& product, bool filters) {
  if (product.op != Op::kMatMul && product.op != Op::kConv) return std::nullopt;
  if (!HasKernel(graph, product, filters)) return std::nullopt;
  Dims dims;
  std::vector<int64_t> columns = FindColumns(graph, product.operands[1], &dims);
  if (columns.empty()) return std::nullopt;
  Value node = product;
  std::optional<Rows> rows = FindRows(graph, product.operands[0]);
  const int64_t channels = MissingChannels(product, dims);
  if (!rows || !PadRows(graph, node, *rows, channels)) return std::nullopt;
  PadFilters(channels, dims, columns);
  node.operands = {rows->codes, Integers(graph, DType::kI8, dims, columns)};
  node.attrs.erase("precision");
  const ValueId sums = *AddInferred(graph, std::move(node));
  if (rows->zero == 0) return sums;
  ValueId extra = ColumnSums(graph, product, dims, columns);
  const ValueId zero =
      rows->zero ? Integers(graph, DType::kI32, {}, {*rows->zero}) : rows->late_zero;
  extra = graph.Pointwise(ScalarOp::kMul, {extra, zero});
  return graph.Pointwise(ScalarOp::kSub, {sums, extra});
}

std::optional<ScaledCodes> FindScaledCodes(Graph& graph, ValueId value) {
  if (graph[value].op == Op::kTranspose) {
    const Dims perm = graph[value].Ints("perm");
    std::optional<ScaledCodes> inner = FindScaledCodes(graph, graph[value].operands[0]);
    if (!inner || perm != Dims{1, 0}) return std::nullopt;
    inner->centred = Add(graph, Op::kTranspose, {inner->centred}, {{"perm", perm}});
    if (graph[inner->scale].type.rank() == 2) {
      inner->scale = Add(graph, Op::kTranspose, {inner->scale}, {{"perm", perm}});
    }
    return inner;
  }
  if (!IsScalarOp(graph[value], ScalarOp::kMul)) return std::nullopt;
  const ScaledCodes found{graph[value].operands[0], graph[value].operands[1]};
  if (!FindCentred(graph, found.centred)) return std::nullopt;
  if (graph[found.centred].type.dims != graph[value].type.dims) return std::nullopt;
  return found;
}

bool IsProductOfBytes(const Graph& graph, const Value& node) {
  return (node.op == Op::kMatMul || node.op == Op::kConv) &&
         graph[node.operands[0]].type.dtype == DType::kU8 &&
         graph[node.operands[1]].type.dtype == DType::kI8;
}

}  // namespace mlc::graph
