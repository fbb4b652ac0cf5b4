#include "compiler/schedule/cpu/register_tile.h"

#include <algorithm>
#include <memory>

namespace mlc::schedule {

using ir::ExprRef;
using ir::Int;

namespace {

constexpr int64_t kLine = 16;  // f32 elements of a cache line

ExprRef Word(int64_t value) {
  return std::make_shared<const ir::Expr>(ir::Expr{{DType::kI32, 1}, ir::IntImm{value}});
}

}  // namespace

RegisterTile::RegisterTile(ir::KernelBuilder& builder, int rows, int vectors, int lanes, DType sums)
    : builder_(builder), sums_(sums), vectors_(vectors), lanes_(lanes) {
  acc_ = builder.Registers("acc", sums, lanes, int64_t{rows} * vectors);
  column_ = builder.Registers("col", sums, lanes, vectors);
  scalar_ = builder.Registers("row", sums, lanes, 1);
}

ExprRef RegisterTile::Index(const ExprRef& row, const ExprRef& vector) const {
  return row * vectors_ + vector;
}

ExprRef RegisterTile::Get(const ExprRef& row, const ExprRef& vector) {
  return builder_.Get(acc_, Index(row, vector));
}

void RegisterTile::Set(const ExprRef& row, const ExprRef& vector, ExprRef value) {
  builder_.Set(acc_, Index(row, vector), std::move(value));
}

ExprRef RegisterTile::RowElement(const RowOperand& a, const ExprRef& at) {
  ExprRef value = builder_.Load(a.buffer, at);
  if (a.dtype != sums_) value = ir::MakeCast(sums_, value);
  for (int64_t byte = 1; a.byte_stride != 0 && byte < 4; ++byte) {
    const ExprRef next = ir::MakeCast(sums_, builder_.Load(a.buffer, at + byte * a.byte_stride));
    const ExprRef high =
        ir::MakeApply(ScalarOp::kMul, {next, Word(static_cast<int32_t>(1u << (8 * byte)))});
    value = ir::MakeApply(ScalarOp::kOr, {value, high});
  }
  return value;
}

void RegisterTile::Zero(int rows) {
  const ExprRef zero =
      sums_ == DType::kF32 ? ir::Float(sums_, 0.0, lanes_) : ir::MakeBroadcast(Word(0), lanes_);
  Init(rows, [&](const ExprRef&, const ExprRef&) { return zero; });
}

void RegisterTile::Init(int rows, const std::function<ExprRef(ExprRef, ExprRef)>& value) {
  builder_.Unrolled("r", rows, [&](const ExprRef& r) {
    builder_.Unrolled("v", vectors_, [&](const ExprRef& v) { Set(r, v, value(r, v)); });
  });
}

void RegisterTile::Step(const RowBlock& block, const RowOperand& a, const ColumnOperand& b,
                        const ExprRef& k) {
  const ExprRef b_at = b.base + k * b.k_stride;
  Step(block, a, k, [&](const ExprRef& v) {
    const ExprRef value = builder_.Load(b.buffer, b_at + v * int64_t{lanes_}, lanes_);
    return b.dtype == sums_ ? value : ir::MakeCast(sums_, value);
  });
}

void RegisterTile::Step(const RowBlock& block, const RowOperand& a, const ExprRef& k,
                        const ColumnVector& column) {
  builder_.Unrolled("v", vectors_, [&](const ExprRef& v) { builder_.Set(column_, v, column(v)); });
  const ExprRef a_at =
      a.base + k * a.k_stride +
      (int64_t{block.outer_begin} * a.outer_stride + int64_t{block.inner_begin} * a.inner_stride);
  builder_.Unrolled("o", block.outer_end - block.outer_begin, [&](const ExprRef& o) {
    builder_.Unrolled("i", block.inner_end - block.inner_begin, [&](const ExprRef& i) {
      const ExprRef value = RowElement(a, a_at + o * a.outer_stride + i * a.inner_stride);
      builder_.Set(scalar_, Int(0), ir::MakeBroadcast(value, lanes_));
      const ExprRef row = (o + block.outer_begin) * block.inner_pitch + i + block.inner_begin;
      builder_.Unrolled("v", vectors_, [&](const ExprRef& v) {
        Set(row, v,
            ir::MakeApply(sums_ == DType::kF32 ? ScalarOp::kFma : ScalarOp::kDot4,
                          {builder_.Get(scalar_, Int(0)), builder_.Get(column_, v), Get(row, v)}));
      });
    });
  });
}

void RegisterTile::Loop(const RowBlock& block, const RowOperand& a, const ColumnOperand& b,
                        int64_t depth, const LoopOptions& options) {
  if (block.count() == 0) return;
  // A straight line of some 500 FMAs is the most the register allocator handles without spills.
  const int64_t step_fmas = std::max<int64_t>(1, int64_t{block.count()} * vectors_);
  if (depth <= options.flat_depth && depth * step_fmas <= 448) {
    builder_.Unrolled("k", depth, [&](const ExprRef& k) { Step(block, a, b, k); });
    return;
  }
  const int64_t unroll = std::clamp<int64_t>(options.unroll, 1, depth);
  const int64_t main = depth / unroll * unroll;
  builder_.For("k", Int(0), Int(main), unroll, [&](const ExprRef& k) {
    if (options.prefetch > 0) {
      const ExprRef prefetched = b.base + (k + options.prefetch) * b.k_stride;
      builder_.Unrolled("u", unroll, [&](const ExprRef& u) {
        builder_.Unrolled("v", vectors_, [&](const ExprRef& v) {
          builder_.Prefetch(b.buffer, prefetched + u * b.k_stride + v * int64_t{lanes_}, 1);
        });
      });
    }
    for (int line = 0; line < options.prefetch_lines; ++line) {
      const int64_t step = int64_t{options.prefetch_lines} * kLine / unroll;
      builder_.Prefetch(b.buffer, options.prefetch_base + k * step + line * kLine, 2);
    }
    builder_.Unrolled("u", unroll, [&](const ExprRef& u) { Step(block, a, b, k + u); });
  });
  builder_.For("k", Int(main), Int(depth), 1, [&](const ExprRef& k) { Step(block, a, b, k); });
}

}  // namespace mlc::schedule
