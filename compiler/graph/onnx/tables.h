// The operator tables, one per file of this folder. The importer searches them in order. Immutable;
// thread-safe.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/graph/onnx/op_context.h"

namespace mlc::graph::onnx {

std::span<const OpRow> ActivationOps();
std::span<const OpRow> AttentionOps();
std::span<const OpRow> CastOps();
std::span<const OpRow> ClassicOps();
std::span<const OpRow> Col2ImOps();
std::span<const OpRow> ConcatSplitOps();
std::span<const OpRow> ConstantOps();
std::span<const OpRow> ConvOps();
std::span<const OpRow> ConvTransposeOps();
std::span<const OpRow> DeformConvOps();
std::span<const OpRow> DeterminantOps();
std::span<const OpRow> EinsumOps();
std::span<const OpRow> ExpertOps();
std::span<const OpRow> FourierOps();
std::span<const OpRow> FusedAttentionOps();
std::span<const OpRow> FusedConvOps();
std::span<const OpRow> FusedIntegerProductOps();
std::span<const OpRow> FusedNormOps();
std::span<const OpRow> FusedOps();
std::span<const OpRow> FusedQuantizedOps();
std::span<const OpRow> FusedRecurrentOps();
std::span<const OpRow> FusedRotaryEmbeddingOps();
std::span<const OpRow> FusedWeightOps();
std::span<const OpRow> GatherScatterOps();
std::span<const OpRow> GridSampleOps();
std::span<const OpRow> GroupedQueryOps();
std::span<const OpRow> IntegerProductOps();
std::span<const OpRow> InverseTrigonometryOps();
std::span<const OpRow> KnownDataOps();
std::span<const OpRow> LinearAttentionOps();
std::span<const OpRow> MatMulOps();
std::span<const OpRow> NormalizationOps();
std::span<const OpRow> OptionalOps();
std::span<const OpRow> PackedAttentionOps();
std::span<const OpRow> PadOps();
std::span<const OpRow> PointwiseOps();
std::span<const OpRow> PoolOps();
std::span<const OpRow> QuantizeOps();
std::span<const OpRow> RecurrentOps();
std::span<const OpRow> ReduceOps();
std::span<const OpRow> ReshapeOps();
std::span<const OpRow> ResizeOps();
std::span<const OpRow> RoiAlignOps();
std::span<const OpRow> RotaryEmbeddingOps();
std::span<const OpRow> SelectionOps();
std::span<const OpRow> SequenceOps();
std::span<const OpRow> SliceOps();
std::span<const OpRow> SoftmaxOps();
std::span<const OpRow> SuppressionOps();
std::span<const OpRow> TopKOps();
std::span<const OpRow> UniqueOps();

// The domain of the operators that ONNX Runtime's optimizer and quantizer write.
inline constexpr std::string_view kFusedDomain = "com.microsoft";
// The domain of classical machine learning.
inline constexpr std::string_view kClassicDomain = "ai.onnx.ml";

bool IsDefaultDomain(std::string_view domain);
// The operator's row; null if it is not supported.
const OpRow* FindOperator(std::string_view domain, std::string_view op_type);
// The handler of the operator; null if it is not supported.
Handler FindHandler(std::string_view domain, std::string_view op_type);
// The operators of a domain, by name; empty for an unknown domain.
std::vector<OpRow> OperatorsOf(std::string_view domain);
// Every operator of the default domain.
std::vector<std::string> OperatorNames();

}  // namespace mlc::graph::onnx
