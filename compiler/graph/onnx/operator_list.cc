#include "compiler/graph/onnx/operator_list.h"

#include "compiler/graph/onnx/preflight.h"
#include "compiler/graph/onnx/tables.h"

namespace mlc::graph::onnx {
namespace {

std::string CountText(int count) {
  return count == kVariadic ? std::string("any") : std::to_string(count);
}

std::string Section(std::string_view title, std::string_view domain) {
  std::string text = "\n## " + std::string(title) +
                     "\n\n| operator | operands | results | limits |\n|---|---|---|---|\n";
  for (const OpRow& row : OperatorsOf(domain)) {
    text += "| " + std::string(row.op_type) + " | " + CountText(row.max_inputs) + " | " +
            CountText(row.max_outputs) + " | " + std::string(row.limits) +
            (row.limits.empty() ? "|\n" : " |\n");
  }
  return text;
}

}  // namespace

std::string OperatorList() {
  std::string text =
      "# ONNX operators\n\n"
      "What the importer takes, from the tables in `compiler/graph/onnx/ops/`; a test keeps this\n"
      "page in step.\n\n"
      "- Operator sets " +
      std::to_string(kMinOpset) + " to " + std::to_string(kMaxOpset) +
      ", in all versions of an operator unless its limits say otherwise.\n"
      "- Operands and results are the most that a node may have.\n"
      "- Element types: f64, f32, f16, bf16, i64, i32, i16, i8, u64, u32, u16, u8, bool.\n"
      "  Integers of 2 or 4 bits (i4, u4, i2, u2) and floats of 4 or 8 bits (f8e4m3fn,\n"
      "  f8e4m3fnuz, f8e5m2, f8e5m2fnuz, f8e8m0, f4e2m1) are moved, cast, quantised and\n"
      "  dequantised. Kernels for GPUs have f8e4m3fn and f8e5m2, but none of the others and\n"
      "  no u16, u32 and u64.\n"
      "- `If`, `Loop`, `Scan` and `SequenceMap` are taken where counts are known; a run may "
      "decide\n"
      "  the conditions.\n"
      "- Functions of a model are inlined.\n"
      "- `compiler/graph/onnx/README.md` has the limits of all operators.\n";
  return text + Section("ai.onnx", "") + Section(kClassicDomain, kClassicDomain) +
         Section(kFusedDomain, kFusedDomain);
}

}  // namespace mlc::graph::onnx
