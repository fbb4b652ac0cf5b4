// Constant weights of few bits as dequantize nodes, which keep them packed until a pass or a kernel
// decodes them. Not thread-safe, as OpContext.
#pragma once

#include "compiler/graph/onnx/op_context.h"
#include "compiler/graph/onnx/ops/packed_rows.h"

namespace mlc::graph::onnx {

// Codes of one byte each, as a dequantize operator of ONNX has them: i8 or u8 of rank 2, with
// blocks along `axis`.
struct ByteCodes {
  TensorDataRef codes;
  TensorDataRef scales;  // f32, f16 or bf16, one for each block
  TensorDataRef zeros;   // of the codes' type, as the scales; null: zero everywhere
  int axis = 0;
  int64_t block = 1;
};

// The matrix of the codes' dims in type `dtype`, packed in as few bits as the codes need. The codes
// count as decoded weights.
ValueId PackedBytes(OpContext& c, const ByteCodes& form, DType dtype);

// The same of float8 codes, which stay as they are: f8e4m3fn or f8e5m2, finite, without zeros.
ValueId PackedFloat8(OpContext& c, const ByteCodes& form, DType dtype);

// The matrix [inner, rows] of packed rows, in the type of the scales; kNoValue, without an error,
// if the form is none that stays packed: then DecodedRows says what is wrong, or decodes it.
ValueId PackedColumns(OpContext& c, const PackedRows& form);

}  // namespace mlc::graph::onnx
