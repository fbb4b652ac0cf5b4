#include "compiler/schedule/cuda/attention/attention_stage.h"

#include <algorithm>

#include "base/ceil_div.h"
#include "compiler/schedule/cuda/tile/gpu_launch.h"

namespace mlc::schedule::gpu {

using graph::ValueId;
using ir::ExprRef;

namespace {

constexpr int kAccessBytes = 16;
constexpr int kLineBytes = 128;
// Vectors of a thread that are written out one by one.
constexpr int64_t kUnrolled = 8;

ExprRef Both(const ExprRef& a, const ExprRef& b) {
  return !a ? b : !b ? a : Do(ScalarOp::kAnd, a, b);
}

}  // namespace

AttentionStage::AttentionStage(const graph::Workload& workload, ir::KernelBuilder& builder,
                               Fused& fused, ValueId value, const AttentionPlan& plan)
    : workload_(workload), builder_(builder), fused_(fused), value_(value), plan_(plan) {
  const int lanes = kAccessBytes / SizeOf(plan.data);
  const graph::TensorType& type = workload.graph()[value].type;
  plain_ = PlaceOf(workload, value);
  if (plain_ && type.dtype == plan.data && CopiesVectors(*plain_, lanes)) {
    lanes_ = lanes;
    return;
  }
  plain_.reset();
  if (type.dims[3] % lanes == 0 && Fused::Vectorises(workload, value, 3, lanes)) lanes_ = lanes;
}

bool AttentionStage::CopiesVectors(const AttentionPlace& plain, int lanes) const {
  const std::vector<int64_t>& dims = workload_.graph()[value_].type.dims;
  bool fits = plain.offset % lanes == 0 && dims[3] % lanes == 0 && plain.strides[3] == 1;
  for (size_t d = 0; d < 3; ++d) fits = fits && (dims[d] == 1 || plain.strides[d] % lanes == 0);
  return fits;
}

void AttentionStage::Copy(ir::BufferId to, const ExprRef& base, int64_t pitch, const Part& part,
                          const ExprRef& thread) {
  const int64_t vectors = part.columns / lanes_;
  const int64_t total = part.rows * vectors;
  const int64_t threads = plan_.threads();
  const int64_t whole = total / threads;
  const auto one = [&](const ExprRef& n) {
    const ExprRef r = builder_.Let("r", ir::FloorDiv(n, vectors));
    const ExprRef c = builder_.Let("c", ir::Mod(n, vectors)) * int64_t{lanes_};
    Element(to, base + (r * pitch + c), part, r, c);
  };
  const auto step = [&](const ExprRef& i) { one(builder_.Let("n", i * threads + thread)); };
  if (whole <= kUnrolled) {
    builder_.Unrolled("i", whole, step);
  } else {
    const int64_t rounds = whole / kUnrolled;
    builder_.For("i", rounds, [&](const ExprRef& i) {
      builder_.Unrolled("j", kUnrolled, [&](const ExprRef& j) { step(i * kUnrolled + j); });
    });
    builder_.Unrolled("i", whole % kUnrolled,
                      [&](const ExprRef& i) { step(i + rounds * kUnrolled); });
  }
  const int64_t rest = total % threads;
  if (rest == 0) return;
  builder_.If(Less(thread, ir::Int(rest)), [&] { step(ir::Int(whole)); });
}

void AttentionStage::FetchAhead(const Part& part, const ExprRef& thread) {
  if (!plain_) return;
  const int64_t line = std::min<int64_t>(part.columns, kLineBytes / SizeOf(plan_.data));
  const int64_t row_lines = CeilDiv(part.columns, line);
  const int64_t lines = part.rows * row_lines;
  const std::vector<int64_t>& dims = workload_.graph()[value_].type.dims;
  for (int64_t first = 0; first < lines; first += plan_.threads()) {
    const auto one = [&] {
      const ExprRef n = builder_.Let("line", thread + first);
      const ExprRef row = part.first_row + ir::FloorDiv(n, row_lines);
      const ExprRef column = part.first_column + ir::Mod(n, row_lines) * line;
      // Past the end, what the last row and column have.
      const std::vector<ExprRef> place = {part.batch, part.head, ir::Min(row, part.row_end - 1),
                                          ir::Min(column, ir::Int(part.column_end - 1))};
      ExprRef from = ir::Int(plain_->offset);
      for (size_t d = 0; d < 4; ++d) {
        if (dims[d] != 1) from = from + place[d] * plain_->strides[d];
      }
      builder_.Prefetch(fused_.OperandBuffer(plain_->operand), from, 2);
    };
    if (first + plan_.threads() <= lines) {
      one();
    } else {
      builder_.If(Less(thread, ir::Int(lines - first)), one);
    }
  }
}

void AttentionStage::Element(ir::BufferId to, const ExprRef& at, const Part& part, const ExprRef& r,
                             const ExprRef& c) {
  const ExprRef row = part.first_row + r;
  const ExprRef column = part.first_column + c;
  ExprRef inside;
  int64_t first = 0, end = 0;
  const bool known = ir::IsConstInt(part.first_row, &first) && ir::IsConstInt(part.row_end, &end);
  if (!known || first + part.rows > end) inside = Less(row, part.row_end);
  int64_t left = 0;
  if (!ir::IsConstInt(part.first_column, &left) || left + part.columns > part.column_end) {
    inside = Both(inside, Less(column, ir::Int(part.column_end)));
  }
  const std::vector<ExprRef> place = {part.batch, part.head, row, column};
  if (plain_) {
    ExprRef from = ir::Int(plain_->offset);
    for (size_t d = 0; d < 4; ++d) {
      if (workload_.graph()[value_].type.dims[d] != 1) from = from + place[d] * plain_->strides[d];
    }
    ExprRef mask;
    if (inside) {
      mask = builder_.Let("live",
                          ir::MakeApply(ScalarOp::kSelect, {inside, ir::Int(lanes_), ir::Int(0)}));
    }
    builder_.CopyAsync(to, at, fused_.OperandBuffer(plain_->operand), from, lanes_, mask);
    return;
  }
  const auto store = [&] {
    ExprRef value = fused_.Emit(value_, {place, lanes_ > 1 ? 3 : -1, lanes_, nullptr});
    if (value->type.dtype != plan_.data) value = ir::MakeCast(plan_.data, value);
    builder_.Store(to, at, value);
  };
  if (!inside) return store();
  builder_.If(inside, store, [&] { builder_.Store(to, at, ir::Float(plan_.data, 0, lanes_)); });
}

}  // namespace mlc::schedule::gpu
