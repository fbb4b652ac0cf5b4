// The half of TensorOperand between shared memory and registers.
#include "compiler/schedule/cuda/tensor/tensor_operand.h"

namespace mlc::schedule {

using ir::ExprRef;
using ir::Int;

void TensorOperand::PlaceFragments(const ExprRef& lane, const ExprRef& first,
                                   const ExprRef& slice) {
  const bool row = tile_.side == Side::kRow;
  const int units = plan_.units();
  const int64_t extent = row ? plan_.warp_rows() : plan_.warp_columns();
  const ExprRef unit = b_.Let("unit", slice * int64_t{units});
  const ExprRef l8 = b_.Let("l8", ir::Mod(lane, 8));
  const ExprRef l_mid = b_.Let("l_mid", ir::Mod(ir::FloorDiv(lane, 8), 2));
  const ExprRef l_top = b_.Let("l_top", ir::FloorDiv(lane, 16));
  fragment_at_.clear();
  if (packed()) {
    const int64_t group = tile_.narrow() ? 16 : 8;
    const int64_t size = group * plan_.unit_depth();
    fragment_base_ =
        b_.Let("fragment", ir::FloorDiv(first, group) * (tile_.bk / plan_.unit_depth() * size) +
                               unit * size + lane * (size / 32) + base_);
    return;
  }
  if (tile_.bytes == 1 || (tile_.bytes == 2 && tile_.mode == TileMode::kAlongK)) {
    const int64_t piece = tile_.chunk();
    const ExprRef x = b_.Let("fx", l8 + (row ? l_mid : l_top) * 8);
    const ExprRef high = row ? l_top : l_mid;
    fragment_base_ = b_.Let("fragment", (first + x) * tile_.bk + base_);
    for (int u = 0; u < units; ++u) {
      const ExprRef chunk = (unit + u) * 2 + high;
      fragment_at_.push_back(b_.Let("fk", Swizzled(b_, x, chunk, tile_.bk / piece) * piece));
    }
    return;
  }
  if (tile_.bytes == 2) {
    const ExprRef k = b_.Let("fk", l8 + (row ? l_top : l_mid) * 8);
    const ExprRef high = row ? l_mid : l_top;
    fragment_base_ = b_.Let("fragment", k * tile_.extent + unit * (16 * tile_.extent) + base_);
    for (int64_t x = 0; x < extent; x += 16) {
      const ExprRef chunk = ir::FloorDiv(first, 8) + x / 8 + high;
      fragment_at_.push_back(b_.Let("fx", Swizzled(b_, k, chunk, tile_.extent / 8) * 8));
    }
    return;
  }
  PlaceWide(lane, first, unit);
}

void TensorOperand::PlaceWide(const ExprRef& lane, const ExprRef& first, const ExprRef& unit) {
  if (tile_.mode == TileMode::kAcross) {
    const ExprRef g = b_.Let("lane_g", ir::FloorDiv(lane, 4));
    const ExprRef t = b_.Let("lane_t", ir::Mod(lane, 4));
    fragment_base_ = b_.Let("fragment", (unit * 16 + t) * tile_.pitch() + first + g + base_);
    return;
  }
  // Matrices of 8 x 4 elements: rows take two of 8 rows each for 4 k, then two for the next 4;
  // columns take 16 k of 8 columns.
  const bool row = tile_.side == Side::kRow;
  const ExprRef matrix = b_.Let("matrix", ir::FloorDiv(lane, 8));
  const ExprRef x =
      b_.Let("fx", row ? ir::Mod(lane, 8) + ir::Mod(matrix, 2) * 8 : ir::Mod(lane, 8));
  const ExprRef high = row ? b_.Let("high", ir::FloorDiv(matrix, 2)) : matrix;
  const int loads = row ? 2 : 1;  // of a unit
  fragment_base_ = b_.Let("fragment", (first + x) * tile_.bk + base_);
  for (int i = 0; i < plan_.units() * loads; ++i) {
    const ExprRef chunk = unit * 4 + i * (4 / loads) + high;
    fragment_at_.push_back(b_.Let("fk", Swizzled(b_, x, chunk, tile_.bk / 4) * 4));
  }
}

void TensorOperand::Load(const ExprRef& stage, int unit, int set) {
  if (tile_.narrow()) {
    LoadNarrow(stage, unit, set);
  } else {
    LoadWide(stage, unit, set);
  }
}

void TensorOperand::LoadNarrow(const ExprRef& stage, int unit, int set) {
  const ExprRef base = stage + fragment_base_;
  for (int i = 0; i < fragments_; ++i) {
    const ExprRef to = Int(set * fragments_ + i);
    if (packed()) {
      const int depth = plan_.unit_depth();
      const int64_t at = (int64_t{i} * (tile_.bk / depth) + unit) * 16 * depth;
      b_.Set(high_, to, b_.Load(tiles_, base + at, tile_.chunk()));
    } else if (tile_.bytes == 1 || tile_.mode == TileMode::kAlongK) {
      const ExprRef from =
          base + fragment_at_[static_cast<size_t>(unit)] + int64_t{i} * 16 * tile_.bk;
      b_.LoadMatrix(high_, to, tiles_, from, false);
    } else {
      const ExprRef from =
          base + fragment_at_[static_cast<size_t>(i)] + int64_t{unit} * 16 * tile_.extent;
      b_.LoadMatrix(high_, to, tiles_, from, true);
    }
  }
}

void TensorOperand::LoadWide(const ExprRef& stage, int unit, int set) {
  const ExprRef base = stage + fragment_base_;
  const int per_tile = PerTile();
  for (int i = 0; i < fragments_; ++i) {
    const ExprRef to = Int(set * fragments_ + i);
    const int tile = i / per_tile;
    const int half = i % per_tile;
    if (packed()) {
      const int64_t at = (int64_t{i} * (tile_.bk / 16) + unit) * 128;
      b_.Set(high_, to, b_.Load(tiles_, base + at, 4));
    } else if (tile_.mode == TileMode::kAcross) {
      const int64_t at = (int64_t{unit} * 16 + half * 8) * tile_.pitch() + tile * 8;
      b_.Set(high_, to, b_.Load(tiles_, base + at, 2, 4 * tile_.pitch()));
    } else {
      const int64_t rows = tile_.side == Side::kRow ? 16 : 8;
      const ExprRef at = base + fragment_at_[static_cast<size_t>(unit * per_tile + half)];
      b_.LoadMatrix(high_, to, tiles_, at + tile * rows * tile_.bk, false);
    }
  }
}

Tf32Parts SplitTf32(const ExprRef& value) {
  const ExprRef high = ir::MakeApply(ScalarOp::kRoundTf32, {value});
  return {high, ir::MakeApply(ScalarOp::kSub, {value, high})};
}

void TensorOperand::Round(int i, int set) {
  if (packed() && plan_.math == TensorMath::kTf32) return;
  for (int part = i * PerTile(); part < (i + 1) * PerTile(); ++part) {
    const ExprRef at = Int(set * fragments_ + part);
    const ExprRef value = b_.Get(high_, at);
    if (plan_.math == TensorMath::kTf32) {
      const ExprRef up = ir::Float(DType::kF32, kRoundUpForTf32, value->type.lanes);
      b_.Set(high_, at, ir::MakeApply(ScalarOp::kMul, {value, up}));
      continue;
    }
    const Tf32Parts parts = SplitTf32(value);
    b_.Set(low_, Int(part), parts.low);
    b_.Set(high_, at, parts.high);
  }
}

TensorOperand::Fragment TensorOperand::Get(int i, int half, int set) const {
  const int64_t first = int64_t{set} * fragments_;
  if (tile_.narrow()) {
    if (tile_.side == Side::kRow) return {high_, Int(first + i), 0};
    return {high_, Int(first + i / 2), i % 2};
  }
  if (PerTile() == 1) return {high_, Int(first + i), half};
  return {high_, Int(first + i * 2 + half), 0};
}

TensorOperand::Fragment TensorOperand::GetLow(int i, int half) const {
  Fragment fragment = Get(i, half, 0);
  fragment.registers = low_;
  return fragment;
}

}  // namespace mlc::schedule
