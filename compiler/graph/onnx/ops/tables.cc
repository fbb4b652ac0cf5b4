#include "compiler/graph/onnx/tables.h"

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
    EinsumOps,
    FourierOps,
    GatherScatterOps,
    GridSampleOps,
    IntegerProductOps,
    InverseTrigonometryOps,
    KnownDataOps,
    MatMulOps,
    NormalizationOps,
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
    SliceOps,
    SoftmaxOps,
    TopKOps,
};

constexpr Table kFusedTables[] = {FusedAttentionOps, FusedIntegerProductOps, FusedOps,
                                  FusedQuantizedOps, FusedRecurrentOps};

constexpr Table kClassicTables[] = {ClassicOps};

const OpRow* FindIn(std::span<const Table> tables, std::string_view op_type) {
  for (const Table table : tables) {
    for (const OpRow& row : table()) {
      if (row.op_type == op_type) return &row;
    }
  }
  return nullptr;
}

}  // namespace

bool IsDefaultDomain(std::string_view domain) { return domain.empty() || domain == "ai.onnx"; }

const OpRow* FindOperator(std::string_view domain, std::string_view op_type) {
  if (IsDefaultDomain(domain)) return FindIn(kTables, op_type);
  if (domain == kClassicDomain) return FindIn(kClassicTables, op_type);
  return domain == kFusedDomain ? FindIn(kFusedTables, op_type) : nullptr;
}

Handler FindHandler(std::string_view domain, std::string_view op_type) {
  const OpRow* const row = FindOperator(domain, op_type);
  return row == nullptr ? nullptr : row->handler;
}

std::vector<std::string> OperatorNames() {
  std::vector<std::string> names;
  for (const Table table : kTables) {
    for (const OpRow& row : table()) names.emplace_back(row.op_type);
  }
  return names;
}

}  // namespace mlc::graph::onnx
