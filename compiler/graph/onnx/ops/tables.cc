#include "compiler/graph/onnx/tables.h"

#include <algorithm>

namespace mlc::graph::onnx {
namespace {

using Table = std::span<const OpRow> (*)();

constexpr Table kTables[] = {
    ActivationOps,
    AttentionOps,
    CastOps,
    Col2ImOps,
    ConcatSplitOps,
    ConstantOps,
    ConvOps,
    ConvTransposeOps,
    DeformConvOps,
    DeterminantOps,
    EinsumOps,
    FourierOps,
    GatherScatterOps,
    GridSampleOps,
    IntegerProductOps,
    InverseTrigonometryOps,
    KnownDataOps,
    LinearAttentionOps,
    MatMulOps,
    NormalizationOps,
    OptionalOps,
    PadOps,
    PointwiseOps,
    PoolOps,
    QuantizeOps,
    RecurrentOps,
    ReduceOps,
    ReshapeOps,
    ResizeOps,
    RoiAlignOps,
    RotaryEmbeddingOps,
    SelectionOps,
    SequenceOps,
    SliceOps,
    SoftmaxOps,
    SuppressionOps,
    TopKOps,
    UniqueOps,
};

constexpr Table kFusedTables[] = {
    ExpertOps,       FusedAttentionOps, FusedConvOps,      FusedIntegerProductOps,  FusedNormOps,
    FusedOps,        FusedQuantizedOps, FusedRecurrentOps, FusedRotaryEmbeddingOps, FusedWeightOps,
    GroupedQueryOps, PackedAttentionOps};

constexpr Table kClassicTables[] = {ClassicOps};

const OpRow* FindIn(std::span<const Table> tables, std::string_view op_type) {
  for (const Table table : tables) {
    for (const OpRow& row : table()) {
      if (row.op_type == op_type) return &row;
    }
  }
  return nullptr;
}

std::span<const Table> TablesOf(std::string_view domain) {
  if (IsDefaultDomain(domain)) return kTables;
  if (domain == kClassicDomain) return kClassicTables;
  if (domain == kFusedDomain) return kFusedTables;
  return {};
}

}  // namespace

bool IsDefaultDomain(std::string_view domain) { return domain.empty() || domain == "ai.onnx"; }

const OpRow* FindOperator(std::string_view domain, std::string_view op_type) {
  return FindIn(TablesOf(domain), op_type);
}

Handler FindHandler(std::string_view domain, std::string_view op_type) {
  const OpRow* const row = FindOperator(domain, op_type);
  return row == nullptr ? nullptr : row->handler;
}

std::vector<OpRow> OperatorsOf(std::string_view domain) {
  std::vector<OpRow> rows;
  for (const Table table : TablesOf(domain))
    rows.insert(rows.end(), table().begin(), table().end());
  const auto by_name = [](const OpRow& a, const OpRow& b) { return a.op_type < b.op_type; };
  std::sort(rows.begin(), rows.end(), by_name);
  return rows;
}

std::vector<std::string> OperatorNames() {
  std::vector<std::string> names;
  for (const OpRow& row : OperatorsOf("")) names.emplace_back(row.op_type);
  return names;
}

}  // namespace mlc::graph::onnx
