#include "compiler/graph/onnx/ops/tables.h"

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
    EinsumOps,
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
    RotaryEmbeddingOps,
    SliceOps,
    SoftmaxOps,
    TopKOps,
};

}  // namespace

Handler FindHandler(std::string_view op_type) {
  for (const Table table : kTables) {
    for (const OpRow& row : table()) {
      if (row.op_type == op_type) return row.handler;
    }
  }
  return nullptr;
}

std::vector<std::string> OperatorNames() {
  std::vector<std::string> names;
  for (const Table table : kTables) {
    for (const OpRow& row : table()) names.emplace_back(row.op_type);
  }
  return names;
}

}  // namespace mlc::graph::onnx
