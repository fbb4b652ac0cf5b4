// A matrix product or a convolution in neutral terms: rows (output pixels, or M) times columns
// (output channels, or N), reduced over taps and channels (K). Offsets are in elements. A value
// without heap memory; it borrows nothing.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "compiler/graph/workload.h"

namespace mlc::schedule {

// One spatial axis of the rows. A matrix product has one, without taps.
struct RowAxis {
  int dim = -1;  // logical output dimension; -1 for none
  int64_t out = 1;
  int64_t in = 1;
  int64_t taps = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t pad = 0;         // before
  int64_t row_stride = 0;  // of the row operand, per input element
  int64_t tap_stride = 0;  // of the column operand, per tap

  // One tap that always meets the input.
  bool Trivial() const { return taps == 1 && pad == 0 && (out - 1) * stride < in; }
};

// Independent products: batches and groups.
struct BatchAxis {
  int dim = -1;  // logical output dimension; the column dimension for groups
  int64_t extent = 1;
  int64_t row_stride = 0;
  int64_t column_stride = 0;
  bool group = false;
};

// Columns that are stored as codes of few bits: of graph::PackedMatrix, by operands.
struct PackedColumns {
  int bits = 0;  // 0: the columns are numbers
  int64_t block = 0;
  int64_t blocks = 0;  // of a column
  int64_t bytes = 0;   // of a column's codes
  int64_t zero = 0;    // without an operand of zeros
  int scales = 0;      // indices into Workload::operands()
  int zeros = -1;      // -1: none
  DType scales_dtype = DType::kF32;
  DType zeros_dtype = DType::kU8;
  DType codes_dtype = DType::kU8;  // or of float8

  int codes_a_byte() const { return 8 / bits; }
};

// Scales of a product of blocks (graph/float8_product.h): dense, those of columns constant.
struct ScaledBlocks {
  int64_t block = 0, across = 0;  // `block` is a multiple of 32; 0: none
  int64_t along = 0, wide = 0;    // scales of a row, and of columns side by side
  int rows = 0, columns = 0;      // indices into Workload::operands()
};

struct ContractionProblem {
  static constexpr int kMaxBatch = 6;

  graph::ValueId anchor = graph::kNoValue;
  bool convolution = false;
  int row_operand = 0;  // indices into Workload::operands()
  int column_operand = 0;
  DType row_dtype = DType::kF32;
  DType column_dtype = DType::kF32;
  bool column_is_weight = false;
  // Rows of u8 times columns of i8, summed as i32. Unless the function that found it says
  // otherwise, a step of k is a word of four bytes: depth counts words, and strides of the rows and
  // row_k_stride are in words. `column_k_stride` remains that of a byte.
  bool of_bytes = false;
  // From a byte of a row's word to the next. If it is not 1, or rows do not begin at words, rows
  // are read byte by byte, and their strides are in bytes.
  int64_t row_byte_stride = 1;
  bool rows_by_byte = false;
  PackedColumns packed;  // column_operand is its codes; the columns' type is column_dtype
  // If it is a value, rows are not an operand (row_operand is -1): the kernel computes them,
  // `rows`, from this RMS norm by pointwise nodes.
  graph::ValueId norm = graph::kNoValue;
  graph::ValueId rows = graph::kNoValue;
  // What the outputs are computed from. Usually the anchor alone; if two, they are slices of it:
  // its first and its second half of columns. `columns` counts those of one.
  std::array<graph::ValueId, 2> ends = {graph::kNoValue, graph::kNoValue};
  int end_count = 1;
  bool of_float8 = false;  // rows and columns are float8, perhaps of different types
  ScaledBlocks blocks;     // of a product of float8
  bool flattened = false;  // the rows axis stands for more than one logical dimension

  std::array<BatchAxis, kMaxBatch> batch;
  int batch_count = 0;
  std::array<RowAxis, 2> outer;  // depth and height; unused ones have dim -1
  RowAxis inner;
  int column_dim = 0;
  int64_t columns = 1;  // of one group
  int64_t column_stride = 1;
  int64_t depth = 1;  // channels of one group
  int64_t row_k_stride = 1;
  int64_t column_k_stride = 1;
  int rank = 0;  // of the output

  int64_t Batches() const;
  int64_t Taps() const { return outer[0].taps * outer[1].taps * inner.taps; }
  int64_t K() const { return Taps() * depth; }
  int64_t Rows() const { return outer[0].out * outer[1].out * inner.out; }
  double Flops() const;  // nominal
  // Of sums, and of what the inner loop multiplies.
  DType SumType() const { return of_bytes ? DType::kI32 : DType::kF32; }
  bool IsPacked() const { return packed.bits != 0; }
  // Operands are sources, and outputs follow from the anchor.
  bool IsPlain() const { return norm == graph::kNoValue && end_count == 1; }
  std::span<const graph::ValueId> Ends() const {
    return std::span(ends).first(static_cast<size_t>(end_count));
  }
  // Of one element of the columns as they are stored, with its part of scale and zero.
  double ColumnBytes() const;
};

// The single kMatMul or kConv of a workload whose operands are sources and whose outputs are
// pointwise functions of it and of sources; nothing for any other workload. f32, f16 and bf16.
std::optional<ContractionProblem> FindContraction(const graph::Workload& workload);
// The same, or a product of two matrices whose right operand is a dequantize node over weights of
// whole numbers, or one of u8 and i8 whose depth is a multiple of 4.
std::optional<ContractionProblem> FindContractionOfAnyColumns(const graph::Workload& workload);
// The same, or one whose dequantize node has codes of float8, or a product of floats with constant
// columns that is not plain: it computes its rows, or its outputs are computed from two halves of
// its columns.
std::optional<ContractionProblem> FindContractionOfAnyForm(const graph::Workload& workload);
// A contraction of f32, f16 or bf16, or a product of float8.
std::optional<ContractionProblem> FindContractionOrFloat8(const graph::Workload& workload);
// A contraction of floats, or one of u8 and i8: of_bytes, but nothing counts in words.
std::optional<ContractionProblem> FindContractionOrBytes(const graph::Workload& workload);
// The same of floats, or a convolution of u8 with one filter of i8 for each channel, whose depth of
// one is no number of words.
std::optional<ContractionProblem> FindContractionOrByteFilters(const graph::Workload& workload);

// Channels in each group of a grouped convolution that has as many outputs as inputs: 1 if it is
// depthwise (one filter for each channel). 0 for any other problem.
int64_t GroupWidth(const ContractionProblem& problem);
inline bool IsDepthwise(const ContractionProblem& problem) { return GroupWidth(problem) == 1; }
// Groups of the problem; 1 if it has none.
int64_t Groups(const ContractionProblem& problem);

}  // namespace mlc::schedule
