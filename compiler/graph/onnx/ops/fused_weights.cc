// Weights of a few bits in blocks, each with a scale, as ONNX Runtime's quantizers write them
// (domain com.microsoft).
#include <algorithm>

#include "compiler/graph/onnx/axes.h"
#include "compiler/graph/onnx/ops/packed_rows.h"
#include "compiler/graph/onnx/ops/packed_weights.h"
#include "compiler/graph/onnx/ops/products.h"
#include "compiler/graph/onnx/ops/quantize.h"
#include "compiler/graph/onnx/tables.h"
#include "compiler/graph/onnx/tensor.h"

namespace mlc::graph::onnx {
namespace {

constexpr int64_t kMinBlock = 16;
// The accuracy_level at which ONNX Runtime rounds rows to 8 bits.
constexpr int64_t kRoundedRows = 4;
// Of the columns and rows of a matrix; products of two with a type's size do not overflow.
constexpr int64_t kMaxSize = int64_t{1} << 30;

struct Packing {
  int bits = 4;
  int64_t block = 0;
};

Packing ReadPacking(OpContext& c, int64_t fallback_block) {
  const int64_t bits = c.Int("bits", 4);
  const int64_t block = c.Int("block_size", fallback_block);
  if (bits != 2 && bits != 4 && bits != 8) {
    c.Unsupported("bits=" + std::to_string(bits) + " (2, 4 and 8 are)");
  }
  if (block < kMinBlock || block > kMaxSize || (block & (block - 1)) != 0) {
    c.Fail("block_size is " + std::to_string(block) + ": it must be a power of two, 16 or more");
  }
  return c.ok() ? Packing{static_cast<int>(bits), block} : Packing{4, kMinBlock};
}

int64_t CeilOver(int64_t x, int64_t y) { return x / y + (x % y == 0 ? 0 : 1); }

// Which block's scale each element of a row takes: blocks in order, or as an operand says.
std::vector<int64_t> BlockOfEach(OpContext& c, const PackedRows& form, int64_t blocks) {
  std::vector<int64_t> of(static_cast<size_t>(form.inner));
  for (size_t k = 0; k < of.size(); ++k) of[k] = static_cast<int64_t>(k) / form.block;
  if (!c.Has(form.order)) return of;
  const Dims given = c.IntsIn(form.order);
  if (!c.ok()) return of;
  if (given.size() < of.size() || static_cast<int64_t>(given.size()) > blocks * form.block) {
    c.Fail("g_idx has " + std::to_string(given.size()) + " entries: it must have K");
    return of;
  }
  for (size_t k = 0; k < of.size(); ++k) {
    if (given[k] < 0 || given[k] >= blocks) {
      c.Fail("g_idx names block " + std::to_string(given[k]) + " of " + std::to_string(blocks));
      return of;
    }
    of[k] = given[k];
  }
  return of;
}

bool CheckPackedTypes(OpContext& c, const PackedRows& form) {
  const DType scales = c.b.DTypeOf(c.In(form.scales));
  if (c.ok() &&
      (c.b.DTypeOf(c.In(form.packed)) != DType::kU8 || !IsFloat(scales) || scales == DType::kF64)) {
    c.Fail("the packed weights must be u8, and their scales f32, f16 or bf16");
  }
  return c.ok();
}

}  // namespace

ValueId DecodedRows(OpContext& c, const PackedRows& form) {
  if (!CheckPackedTypes(c, form)) return kNoValue;
  const TensorDataRef packed = c.DataIn(form.packed);
  const TensorDataRef scales = c.DataIn(form.scales);
  const TensorDataRef zeros = c.DataIn(form.zeros);
  const TensorDataRef order = c.DataIn(form.order);
  if (!c.ok()) return kNoValue;
  BlockCodes codes;
  codes.axis = 1;
  codes.blocks = CeilOver(form.inner, form.block);
  codes.zero = 1 << (form.bits - 1);
  codes.scales = scales;
  codes.zeros = zeros;
  const auto decode = [&]() -> Result<ValueId> {
    codes.codes =
        MLC_TRY(UnpackRows(*packed, form.bits, form.rows, codes.blocks * form.block, form.inner));
    if (zeros != nullptr && zeros->dtype == DType::kU8) {
      const int64_t in_a_row = form.rows / form.zero_rows * codes.blocks;
      codes.zeros = MLC_TRY(UnpackRows(*zeros, form.bits, form.zero_rows, in_a_row, in_a_row));
    }
    codes.block_of = BlockOfEach(c, form, codes.blocks);
    MLC_TRY(c.b.status());
    return c.b.Constant(MLC_TRY(DecodeBlocks(codes, scales->dtype)));
  };
  const DecodingWay way = {{packed, scales, zeros, order},
                           {form.bits, form.block, form.rows, form.inner, form.zero_rows}};
  const Result<ValueId> weights =
      c.decoded.Once(way, form.rows * form.inner * SizeOf(scales->dtype), decode);
  return weights.ok() ? *weights : c.b.Fail(weights.status());
}

namespace {

// Operands: x, packed weights, scales, zero points, block of each row, bias.
void MatMulNBits(OpContext& c) {
  Builder& b = c.b;
  const ValueId x = c.In(0);
  const int64_t rows = c.RequiredInt("N");
  const int64_t inner = c.RequiredInt("K");
  const Packing packing = ReadPacking(c, 0);
  if (c.Int("weight_prepacked", 0) != 0) return c.Unsupported("weight_prepacked other than 0");
  if (c.ok() && (rows < 1 || inner < 1 || rows > kMaxSize || inner > kMaxSize)) {
    return c.Fail("K and N must be sizes from 1 to 2^30");
  }
  if (c.ok() && (b.RankOf(x) < 1 || b.Dim(x, b.RankOf(x) - 1) != inner)) {
    return c.Fail("the last dimension of operand 0 is not K=" + std::to_string(inner));
  }
  if (!c.ok()) return;
  const PackedRows form = {1, 2, 3, 4, packing.bits, rows, inner, packing.block, rows};
  ValueId columns = PackedColumns(c, form);
  const bool rounds = columns != kNoValue && c.Int("accuracy_level", 0) == kRoundedRows;
  if (columns == kNoValue && c.ok()) columns = b.Transpose(DecodedRows(c, form), {1, 0});
  const ValueId weights = b.Cast(columns, b.DTypeOf(x));
  ValueId y =
      MatMulOfAnyRank(c, x, weights, [&](ValueId l, ValueId r) { return b.MatMul(l, r, rounds); });
  if (c.Has(5)) y = b.Plus(y, c.In(5));
  c.Out(y);
}

// Codes of fewer than 8 bits from the bytes of the last dimension, low bits first, as numbers.
ValueId UnpackedLast(Builder& b, ValueId bytes, int bits) {
  ValueId rest = b.Cast(bytes, DType::kF32);
  if (bits == 8 || !b.ok()) return rest;
  Dims dims = b.DimsOf(bytes);
  const int64_t axis = static_cast<int64_t>(dims.size());
  dims.push_back(1);
  std::vector<ValueId> codes;
  const double base = 1 << bits;
  for (int left = 8; left > 0; left -= bits) {
    const ValueId above = b.Apply(ScalarOp::kFloor, {b.TimesNumber(rest, 1 / base)});
    codes.push_back(b.Reshape(b.Minus(rest, b.TimesNumber(above, base)), dims));
    rest = above;
  }
  const ValueId all = b.Concat(codes, axis);
  dims.pop_back();
  dims.back() *= 8 / bits;
  return b.Reshape(all, dims);
}

struct GatheredBlocks {
  int64_t gather_axis = 0;
  int64_t block_axis = 0;  // of the operands
  Packing packing;
  bool is_packed = false;  // bytes of several codes, and a zero in the middle of their range
};

// Whether u8 data are packed follows from the scales' shape: they have the codes' sizes, but one
// entry a block of the block axis.
bool ReadScaledShape(OpContext& c, GatheredBlocks& form) {
  Builder& b = c.b;
  const Dims data = b.DimsOf(c.In(0));
  const Dims scales = b.DimsOf(c.In(2));
  const auto fits = [&](int64_t codes_a_byte) {
    Dims dims = data;
    dims.back() *= codes_a_byte;
    int64_t& blocked = dims[static_cast<size_t>(form.block_axis)];
    blocked = CeilOver(blocked, form.packing.block);
    return dims == scales;
  };
  if (b.DTypeOf(c.In(0)) == DType::kU8) {
    form.is_packed = fits(8 / form.packing.bits);
    if (form.is_packed && form.packing.bits < 8 && fits(1)) {
      c.Fail("whether its u8 codes are packed is ambiguous: use a block_size within the axis");
    }
    if (form.is_packed || !c.ok()) return c.ok();
  }
  if (!fits(1)) c.Fail("the scales do not have one entry a block of the codes");
  return c.ok();
}

bool ReadGatheredBlocks(OpContext& c, GatheredBlocks& form) {
  Builder& b = c.b;
  const int rank = b.RankOf(c.In(0));
  form.packing = ReadPacking(c, 128);
  form.gather_axis = Axis(c, c.Int("gather_axis", 0), rank);
  form.block_axis = Axis(c, c.Int("quantize_axis", 1), rank);
  if (!c.ok()) return false;
  const DType type = b.DTypeOf(c.In(0));
  if (type != DType::kU8 && type != DType::kI8) {
    c.Unsupported("data of other types than 4-bit integers and u8");
    return false;
  }
  if (!ReadScaledShape(c, form)) return false;
  if (form.is_packed && form.gather_axis != 0) c.Fail("packed data need gather_axis=0");
  if (form.gather_axis == form.block_axis) c.Unsupported("gather_axis equal to quantize_axis");
  if (c.Has(3) && c.ok() && b.DTypeOf(c.In(3)) != type) {
    c.Fail("the zero points must have the type of the data");
  }
  return c.ok();
}

// Operands: codes, indices, scales, zero points. Rows are gathered before they are decoded.
void GatherBlockQuantized(OpContext& c) {
  Builder& b = c.b;
  const ValueId indices = c.In(1);
  const ValueId scales = c.In(2);
  GatheredBlocks form;
  if (!c.ok() || !ReadGatheredBlocks(c, form)) return;
  const int bits = form.is_packed ? form.packing.bits : 8;
  const int64_t at = form.gather_axis;
  const ValueId codes = UnpackedLast(b, b.Gather(c.In(0), indices, at), bits);
  const int64_t axis = form.block_axis + (form.block_axis > at ? b.RankOf(indices) - 1 : 0);
  const ValueId scale = b.Cast(b.Gather(scales, indices, at), DType::kF32);
  ValueId zero = b.Scalar(DType::kF32, form.is_packed ? 1 << (bits - 1) : 0);
  if (c.Has(3)) {
    zero = UnpackedLast(b, b.Gather(c.In(3), indices, at), bits);
    // The last byte of a row of zero points may hold more of them than there are blocks.
    const int64_t last = b.RankOf(zero) - 1;
    if (b.ok() && b.Dim(zero, last) > b.Dim(scale, last)) {
      zero = b.SliceAxis(zero, last, 0, b.Dim(scale, last));
    }
    zero = RepeatBlocks(c, codes, zero, axis, form.packing.block);
  }
  const ValueId y =
      b.Times(b.Minus(codes, zero), RepeatBlocks(c, codes, scale, axis, form.packing.block));
  c.Out(b.Cast(y, b.DTypeOf(scales)));
}

constexpr OpRow kFusedWeightsRows[] = {
    {"GatherBlockQuantized", GatherBlockQuantized, 4, 1,
     "integers; blocks along another axis than the gathered one"},
    {"MatMulNBits", MatMulNBits, 6, 1,
     "constant weights of 2, 4 or 8 bits, not prepacked; accuracy_level 4 may round rows"},
};

}  // namespace

std::span<const OpRow> FusedWeightOps() { return kFusedWeightsRows; }

}  // namespace mlc::graph::onnx
