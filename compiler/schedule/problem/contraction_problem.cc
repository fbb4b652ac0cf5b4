#include "compiler/schedule/problem/contraction_problem.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "compiler/graph/float8_product.h"
#include "compiler/graph/packed_matrix.h"
#include "compiler/schedule/problem/contraction_form.h"

namespace mlc::schedule {
namespace {

using graph::Op;
using graph::TensorType;
using graph::Value;
using graph::ValueId;

constexpr int64_t kWordBytes = 4;

bool IsSource(const Value& value) { return value.op == Op::kInput || value.op == Op::kWeight; }

bool IsComputeFloat(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
}

bool IsProductOfBytes(const graph::Graph& graph, const Value& node) {
  return graph[node.operands[0]].type.dtype == DType::kU8 &&
         graph[node.operands[1]].type.dtype == DType::kI8;
}

// Stride of a type's dimension; nothing moves along a dimension of one.
int64_t StrideOf(const TensorType& type, int dim) {
  if (type.dims[static_cast<size_t>(dim)] == 1) return 0;
  if (!type.strides.empty()) return type.strides[static_cast<size_t>(dim)];
  int64_t stride = 1;
  for (size_t d = type.dims.size(); d-- > static_cast<size_t>(dim) + 1;) stride *= type.dims[d];
  return stride;
}

// The anchor, or kNoValue when the workload is not one contraction and pointwise nodes.
ValueId FindAnchor(const graph::Workload& workload) {
  const graph::Graph& graph = workload.graph();
  ValueId anchor = graph::kNoValue;
  for (ValueId id = 0; id < graph.size(); ++id) {
    const Value& value = graph[id];
    switch (value.op) {
      case Op::kInput:
      case Op::kWeight:
      case Op::kPointwise:
      case Op::kCast:
      case Op::kCopy:
      case Op::kDequantize:
      case Op::kLayerNorm:  // of the rows: see FillRows
      case Op::kSlice:      // a half of the columns: see FillEnds
        break;
      case Op::kConstant:
        if (value.data) return graph::kNoValue;
        break;
      case Op::kMatMul:
      case Op::kConv:
        if (anchor != graph::kNoValue) return graph::kNoValue;
        anchor = id;
        break;
      default:
        return graph::kNoValue;
    }
  }
  if (anchor == graph::kNoValue) return anchor;
  const Value& node = graph[anchor];
  const bool of_codes = IsProductOfBytes(graph, node) || graph::IsProductOfFloat8(graph, node);
  for (size_t i = 0; i < 2; ++i) {
    const Value& operand = graph[node.operands[i]];
    const bool is_packed = i == 1 && operand.op == Op::kDequantize;
    if (i == 1 && !IsSource(operand) && !is_packed) return graph::kNoValue;
    if (!of_codes && !IsComputeFloat(operand.type.dtype)) return graph::kNoValue;
  }
  for (size_t i = 2; i < node.operands.size(); ++i) {
    if (!IsSource(graph[node.operands[i]])) return graph::kNoValue;
  }
  return anchor;
}

int CountPacked(const graph::Graph& graph) {
  int count = 0;
  for (ValueId id = 0; id < graph.size(); ++id) count += graph[id].op == Op::kDequantize ? 1 : 0;
  return count;
}

// False if the right operand is not the only packed matrix, or not one of dense weights.
bool FillPacked(const graph::Workload& workload, ContractionProblem& p) {
  const graph::Graph& graph = workload.graph();
  const ValueId id = graph[p.anchor].operands[1];
  const Value& node = graph[id];
  if (node.op != Op::kDequantize || CountPacked(graph) != 1) return false;
  if (graph.Users()[static_cast<size_t>(id)].size() != 1) return false;
  std::vector<const TensorType*> types;
  for (const ValueId operand : node.operands) {
    if (graph[operand].op != Op::kWeight || !graph[operand].type.IsDense()) return false;
    types.push_back(&graph[operand].type);
  }
  const Result<graph::PackedMatrix> matrix = graph::PackedMatrixOf(node, types);
  if (!matrix.ok()) return false;
  p.column_operand = OperandIndex(workload, node.operands[0]);
  p.column_dtype = node.type.dtype;
  p.column_is_weight = true;
  PackedColumns& packed = p.packed;
  packed = {matrix->bits,  matrix->block, matrix->blocks,
            matrix->bytes, matrix->zero,  OperandIndex(workload, node.operands[1])};
  packed.scales_dtype = types[1]->dtype;
  packed.codes_dtype = matrix->codes;
  if (types.size() > 2) {
    packed.zeros = OperandIndex(workload, node.operands[2]);
    packed.zeros_dtype = types[2]->dtype;
  }
  return true;
}

// True if the logical dimensions (outer, inner) of every value that the kernel reads or writes are
// one run in memory, so that a single coordinate can stand for both.
bool Mergeable(const graph::Workload& workload, ValueId skip, int rank, int outer, int inner,
               int64_t inner_extent) {
  if (inner_extent == 1) return false;
  const graph::Graph& graph = workload.graph();
  for (ValueId id = 0; id < graph.size(); ++id) {
    const bool stored = std::count(workload.outputs().begin(), workload.outputs().end(), id) > 0;
    if (id == skip || (!IsSource(graph[id]) && !stored)) continue;
    const TensorType& type = graph[id].type;
    const int shift = rank - type.rank();
    const int64_t outer_dim = outer < shift ? 1 : type.dims[static_cast<size_t>(outer - shift)];
    const int64_t inner_dim = inner < shift ? 1 : type.dims[static_cast<size_t>(inner - shift)];
    if (outer_dim == 1 && inner_dim == 1) continue;
    if (outer_dim == 1 || inner_dim != inner_extent) return false;
    if (StrideOf(type, outer - shift) != inner_extent * StrideOf(type, inner - shift)) return false;
  }
  return true;
}

void AddBatch(ContractionProblem& p, const BatchAxis& axis) {
  if (axis.extent > 1) p.batch[static_cast<size_t>(p.batch_count++)] = axis;
}

// The same product with rows and columns exchanged: vectors run along the other dimension.
void Transpose(ContractionProblem& p) {
  std::swap(p.row_operand, p.column_operand);
  std::swap(p.inner.dim, p.column_dim);
  std::swap(p.inner.out, p.columns);
  p.inner.in = p.inner.out;
  std::swap(p.inner.row_stride, p.column_stride);
  std::swap(p.row_k_stride, p.column_k_stride);
  for (int b = 0; b < p.batch_count; ++b) {
    BatchAxis& axis = p.batch[static_cast<size_t>(b)];
    std::swap(axis.row_stride, axis.column_stride);
  }
}

bool FillMatMul(const graph::Workload& workload, ContractionProblem& p) {
  const graph::Graph& graph = workload.graph();
  const Value& node = graph[p.anchor];
  const TensorType& a = graph[node.operands[0]].type;
  const Value& b_node = graph[node.operands[1]];
  const TensorType& b = b_node.type;
  p.rank = node.type.rank();
  if (a.rank() < 2 || b.rank() < 2 || p.rank - 2 > ContractionProblem::kMaxBatch) return false;
  p.inner.dim = p.rank - 2;
  p.inner.out = p.inner.in = a.dims[static_cast<size_t>(a.rank() - 2)];
  p.inner.row_stride = StrideOf(a, a.rank() - 2);
  p.row_k_stride = StrideOf(a, a.rank() - 1);
  p.depth = a.dims[static_cast<size_t>(a.rank() - 1)];
  p.column_dim = p.rank - 1;
  p.columns = b.dims[static_cast<size_t>(b.rank() - 1)] / p.end_count;
  p.column_stride = StrideOf(b, b.rank() - 1);
  p.column_k_stride = StrideOf(b, b.rank() - 2);
  for (int d = 0; d < p.rank - 2; ++d) {
    const int a_dim = d - (p.rank - a.rank());
    const int b_dim = d - (p.rank - b.rank());
    AddBatch(p, {d, node.type.dims[static_cast<size_t>(d)], a_dim < 0 ? 0 : StrideOf(a, a_dim),
                 b_dim < 0 ? 0 : StrideOf(b, b_dim), false});
  }
  const TensorType& out = graph[workload.outputs()[0]].type;
  if (b_node.op == Op::kDequantize || !p.IsPlain()) return p.rank == 2;
  if (IsProductOfBytes(graph, node)) return true;  // rows and columns differ in their signs
  if (graph::IsProductOfBlocks(node)) return true;
  const bool columns_scattered =
      StrideOf(out, p.rank - 1) > 1 && StrideOf(out, p.rank - 2) == 1 && p.inner.out >= 8;
  if (columns_scattered || (p.columns < 8 && p.inner.out >= 16)) Transpose(p);
  return true;
}

bool FillConv(const graph::Workload& workload, ContractionProblem& p) {
  const graph::Graph& graph = workload.graph();
  const Value& node = graph[p.anchor];
  const TensorType& x = graph[node.operands[0]].type;
  const TensorType& w = graph[node.operands[1]].type;
  const int spatial = x.rank() - 2;
  if (spatial < 1 || spatial > 3) return false;
  p.convolution = true;
  p.rank = x.rank();
  const int64_t groups = node.Int("group");
  const auto& strides = node.Ints("strides");
  const auto& pads = node.Ints("pads");
  const auto& dilations = node.Ints("dilations");
  for (int s = 0; s < spatial; ++s) {
    const auto i = static_cast<size_t>(s);
    RowAxis axis{
        s + 2,   node.type.dims[i + 2], x.dims[i + 2],     w.dims[i + 2], strides[i], dilations[i],
        pads[i], StrideOf(x, s + 2),    StrideOf(w, s + 2)};
    if (s == spatial - 1) {
      p.inner = axis;
    } else {
      p.outer[static_cast<size_t>(s + 3 - spatial)] = axis;
    }
  }
  p.depth = w.dims[1];
  p.columns = w.dims[0] / groups;
  p.column_dim = 1;
  p.row_k_stride = StrideOf(x, 1);
  p.column_stride = StrideOf(w, 0);
  p.column_k_stride = StrideOf(w, 1);
  AddBatch(p, {0, x.dims[0], StrideOf(x, 0), 0, false});
  AddBatch(p, {1, groups, p.depth * StrideOf(x, 1), p.columns * StrideOf(w, 0), true});
  return true;
}

// Folds outer axes into the row axis where memory allows: longer rows make fuller tiles.
void Flatten(const graph::Workload& workload, ContractionProblem& p) {
  const ValueId skip = workload.operands()[static_cast<size_t>(p.column_operand)];
  if (p.row_operand == p.column_operand) return;
  for (RowAxis& axis : p.outer) {
    if (axis.Trivial() && axis.out == 1) axis = RowAxis{};
  }
  if (p.inner.Trivial() && p.inner.out == 1 && p.outer[1].dim >= 0) {
    p.inner = p.outer[1];
    p.outer[1] = p.outer[0];
    p.outer[0] = RowAxis{};
  }
  int inner_dim = p.inner.dim;
  const auto fold = [&](int64_t outer_extent) {
    p.inner.out *= outer_extent;
    p.inner.in = p.inner.out;
    p.flattened = true;
  };
  if (!p.inner.Trivial() || p.inner.stride != 1) return;
  int64_t run = p.inner.out;
  for (int s = 1; s >= 0; --s) {
    RowAxis& axis = p.outer[static_cast<size_t>(s)];
    if (axis.dim < 0) continue;
    if (!axis.Trivial() || axis.stride != 1 ||
        !Mergeable(workload, skip, p.rank, axis.dim, inner_dim, run)) {
      return;
    }
    inner_dim = axis.dim;
    run = axis.out;
    fold(axis.out);
    axis = RowAxis{};
  }
  for (int b = p.batch_count - 1; b >= 0; --b) {
    const BatchAxis axis = p.batch[static_cast<size_t>(b)];
    if (axis.group || axis.column_stride != 0) return;
    if (b != p.batch_count - 1 || !Mergeable(workload, skip, p.rank, axis.dim, inner_dim, run)) {
      return;
    }
    inner_dim = axis.dim;
    run = axis.extent;
    fold(axis.extent);
    p.batch[static_cast<size_t>(b)] = BatchAxis{};
    --p.batch_count;
  }
}

// Counts in words of four bytes. False if the depth is no number of words.
bool FillBytes(ContractionProblem& p) {
  if (p.depth % kWordBytes != 0 || p.IsPacked()) return false;
  p.of_bytes = true;
  p.depth /= kWordBytes;
  p.row_byte_stride = p.row_k_stride;
  std::vector<int64_t*> strides = {&p.inner.row_stride, &p.outer[0].row_stride,
                                   &p.outer[1].row_stride};
  for (int b = 0; b < p.batch_count; ++b) {
    strides.push_back(&p.batch[static_cast<size_t>(b)].row_stride);
  }
  const auto is_word = [](const int64_t* stride) { return *stride % kWordBytes == 0; };
  p.rows_by_byte = p.row_byte_stride != 1 || !std::all_of(strides.begin(), strides.end(), is_word);
  if (p.rows_by_byte) {
    p.row_k_stride *= kWordBytes;
    return true;
  }
  for (int64_t* stride : strides) *stride /= kWordBytes;
  p.row_dtype = DType::kI32;
  return true;
}

}  // namespace

int64_t ContractionProblem::Batches() const {
  int64_t count = 1;
  for (int b = 0; b < batch_count; ++b) count *= batch[static_cast<size_t>(b)].extent;
  return count;
}

double ContractionProblem::Flops() const {
  return 2.0 * static_cast<double>(Batches()) * static_cast<double>(Rows()) *
         static_cast<double>(columns) * end_count * static_cast<double>(K());
}

double ContractionProblem::ColumnBytes() const {
  if (!IsPacked()) return 4;
  const int scale = SizeOf(packed.scales_dtype);
  const int zero = packed.zeros < 0 ? 0 : SizeOf(packed.zeros_dtype);
  return packed.bits / 8.0 + static_cast<double>(scale + zero) / static_cast<double>(packed.block);
}

std::optional<ContractionProblem> FindContraction(const graph::Workload& workload) {
  std::optional<ContractionProblem> p = FindContractionOfAnyColumns(workload);
  if (p && (p->IsPacked() || p->of_bytes)) return std::nullopt;
  return p;
}

namespace {

// Of any columns; products of bytes count in bytes.
std::optional<ContractionProblem> FindProduct(const graph::Workload& workload) {
  const graph::Graph& graph = workload.graph();
  ContractionProblem p;
  p.anchor = FindAnchor(workload);
  if (p.anchor == graph::kNoValue || !FillRows(workload, p) || !FillEnds(workload, p) ||
      !OutputsFollow(workload, p.Ends())) {
    return std::nullopt;
  }
  const Value& node = graph[p.anchor];
  if (p.norm == graph::kNoValue) p.row_operand = OperandIndex(workload, node.operands[0]);
  p.column_operand = OperandIndex(workload, node.operands[1]);
  if (!(node.op == Op::kMatMul ? FillMatMul(workload, p) : FillConv(workload, p))) {
    return std::nullopt;
  }
  const auto operand = [&](int i) -> const Value& {
    return graph[workload.operands()[static_cast<size_t>(i)]];
  };
  if (p.norm == graph::kNoValue) p.row_dtype = operand(p.row_operand).type.dtype;
  if (CountPacked(graph) > 0) {
    if (!FillPacked(workload, p)) return std::nullopt;
  } else {
    p.column_dtype = operand(p.column_operand).type.dtype;
    p.column_is_weight = operand(p.column_operand).op == Op::kWeight;
  }
  if (node.type.NumElements() == 0 || p.K() == 0) return std::nullopt;
  p.of_float8 = graph::IsProductOfFloat8(graph, node);
  if (!FillBlocks(workload, p)) return std::nullopt;
  if (!p.IsPacked() && p.IsPlain()) Flatten(workload, p);
  return p;
}

bool OfBytes(const graph::Workload& workload, const ContractionProblem& p) {
  return IsProductOfBytes(workload.graph(), workload.graph()[p.anchor]);
}
}  // namespace

std::optional<ContractionProblem> FindContractionOfAnyForm(const graph::Workload& workload) {
  std::optional<ContractionProblem> p = FindProduct(workload);
  if (p && p->IsPlain() && p->IsPacked()) return p;
  if (!p || p->IsPlain()) return FindContractionOfAnyColumns(workload);
  if (!p->column_is_weight || p->convolution || p->of_float8 || p->rank != 2) return std::nullopt;
  return p;
}

std::optional<ContractionProblem> FindContractionOfAnyColumns(const graph::Workload& workload) {
  std::optional<ContractionProblem> p = FindProduct(workload);
  if (p && (!p->IsPlain() || p->of_float8 || IsFloat8(p->packed.codes_dtype))) return std::nullopt;
  return p && OfBytes(workload, *p) && !FillBytes(*p) ? std::nullopt : p;
}

std::optional<ContractionProblem> FindContractionOrFloat8(const graph::Workload& workload) {
  std::optional<ContractionProblem> p = FindProduct(workload);
  if (p && (p->IsPacked() || !p->IsPlain() || OfBytes(workload, *p))) return std::nullopt;
  return p;
}

std::optional<ContractionProblem> FindContractionOrBytes(const graph::Workload& workload) {
  std::optional<ContractionProblem> p = FindProduct(workload);
  if (!p || p->IsPacked() || p->of_float8 || !p->IsPlain()) return std::nullopt;
  p->of_bytes = OfBytes(workload, *p);
  return p;
}

std::optional<ContractionProblem> FindContractionOrByteFilters(const graph::Workload& workload) {
  const auto p = FindContractionOrBytes(workload);
  return p && p->of_bytes && !IsDepthwise(*p) ? std::nullopt : p;
}

int64_t GroupWidth(const ContractionProblem& problem) {
  return Groups(problem) > 1 && problem.columns == problem.depth ? problem.depth : 0;
}

int64_t Groups(const ContractionProblem& problem) {
  if (problem.batch_count == 0) return 1;
  const BatchAxis& last = problem.batch[static_cast<size_t>(problem.batch_count - 1)];
  return last.group ? last.extent : 1;
}

}  // namespace mlc::schedule
