#include "compiler/schedule/cpu/row_reduce/row_walk.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "compiler/schedule/fusion/fused_rows.h"

namespace mlc::schedule {

using graph::ValueId;
using graph::Workload;
using ir::ExprRef;

ExprRef Do(ScalarOp op, ExprRef a) { return ir::MakeApply(op, {std::move(a)}); }
ExprRef Do(ScalarOp op, ExprRef a, ExprRef b) {
  return ir::MakeApply(op, {std::move(a), std::move(b)});
}

RowWalk::RowWalk(const Workload& workload, const target::Target& target, const RowProblem& problem,
                 const RowKnobs& knobs)
    : workload_(workload),
      problem_(problem),
      knobs_(knobs),
      node_(workload.graph()[problem.anchor]),
      builder_("row_reduce"),
      fused_(workload, builder_),
      lanes_(problem.lanes) {
  const int64_t vectors = (problem.Columns() + lanes_ - 1) / lanes_;
  chains_ = static_cast<int>(std::clamp<int64_t>(knobs.chains, 1, vectors));
  padded_ = vectors * lanes_;
  acc_ = builder_.Registers("acc", problem.dtype, lanes_, chains_);
  first_ = builder_.Registers("first", problem.dtype, lanes_, chains_);
  second_ = builder_.Registers("second", problem.dtype, lanes_, chains_);
  value_ = builder_.Registers("now", problem.dtype, lanes_, 1);
  const int64_t width = problem.inner ? padded_ : int64_t{chains_} * lanes_;
  const bool pipelined = knobs.storage == RowStorage::kPipelined;
  if (pipelined) {
    pipeline_buffer_ = builder_.Thread("behind", problem.dtype, problem.Reduced() * width);
    previous_ = builder_.Registers("was", problem.dtype, lanes_, 1);
  }
  if (knobs.storage == RowStorage::kScratch || (pipelined && CopiesInput())) {
    row_buffer_ = builder_.Thread("row", problem.dtype, problem.Reduced() * width);
  } else if (knobs.storage == RowStorage::kRegisters) {
    row_buffer_ = builder_.Registers("row", problem.dtype, lanes_, static_cast<int64_t>(vectors));
  }
  streaming_ = knobs.streaming;
  for (ValueId output : workload.outputs()) {
    streaming_ = streaming_ && problem.same_space &&
                 CanStream(workload.graph()[output].type, problem.column, lanes_, target);
  }
  const ValueId both[] = {problem.anchor, problem.x};
  bind_x_ = std::all_of(workload.outputs().begin(), workload.outputs().end(),
                        [&](ValueId id) { return Fused::Covers(workload, id, both); });
}

int64_t RowWalk::Blocks() const {
  return problem_.inner ? 1 : (problem_.Columns() + width() - 1) / width();
}

void RowWalk::ForEachRow(const std::string& name, int64_t parts, const RowBody& body) {
  const int64_t rows = problem_.Rows();
  const int64_t width = this->width();
  const int64_t whole = problem_.inner ? 1 : problem_.Columns() / width;
  const int64_t rest = problem_.inner ? 0 : problem_.Columns() % width;
  const int64_t blocks = Blocks();
  const int64_t chunks = (rows + knobs_.row_block - 1) / knobs_.row_block;
  builder_.Parallel(name, chunks * blocks * parts, [&](const ExprRef& p) {
    part_ = parts == 1 ? ir::Int(0) : builder_.Let("part", ir::Mod(p, parts));
    const ExprRef at = parts == 1 ? p : builder_.Let("at", ir::FloorDiv(p, parts));
    const ExprRef chunk = builder_.Let("k", ir::FloorDiv(at, blocks));
    const ExprRef block = builder_.Let("b", ir::Mod(at, blocks));
    const auto [first, last] = RowsOf(chunk);
    builder_.For("row", first, last, 1, [&](const ExprRef& row) {
      SetRows(row);
      const ExprRef place = row * blocks + block;
      if (problem_.inner) return body(place, part_);
      column_ = block * width;
      const auto tail = [&] {
        column_ = ir::Int(whole * width);
        used_ = static_cast<int>((rest + lanes_ - 1) / lanes_);
        tail_ = rest % lanes_;
        body(place, part_);
      };
      const auto full = [&] {
        used_ = chains_;
        tail_ = 0;
        body(place, part_);
      };
      if (rest == 0) return full();
      if (whole == 0) return tail();
      builder_.If(Do(ScalarOp::kLess, block, ir::Int(whole)), full, tail);
    });
  });
}

std::pair<ExprRef, ExprRef> RowWalk::RowsOf(const ExprRef& chunk) {
  const int64_t rows = problem_.Rows();
  const ExprRef first = builder_.Let("r0", chunk * knobs_.row_block);
  const ExprRef last = first + knobs_.row_block;
  return {first, rows % knobs_.row_block == 0 ? last : ir::Min(last, ir::Int(rows))};
}

void RowWalk::ForEachRowPipelined(const std::string& name, const std::function<void()>& prologue,
                                  const std::function<void()>& steady,
                                  const std::function<void()>& epilogue) {
  const int64_t chunks = (problem_.Rows() + knobs_.row_block - 1) / knobs_.row_block;
  builder_.Parallel(name, chunks, [&](const ExprRef& p) {
    const auto [begin, end] = RowsOf(p);
    SetRows(begin);
    prologue();
    builder_.For("row", begin + 1, end, 1, [&](const ExprRef& row) {
      SetRows(row);
      SetPreviousRow(row - 1);
      steady();
    });
    SetPreviousRow(end - 1);
    epilogue();
  });
}

// This row, and the one that is prefetched meanwhile.
void RowWalk::SetRows(const ExprRef& row) {
  at_.assign(problem_.dims.size(), ir::Int(0));
  SetRow(builder_, row, problem_.kept, problem_.dims, at_);
  if (knobs_.prefetch == PrefetchRows::kNever) return;
  prefetch_at_ = at_;
  const ExprRef last = ir::Int(problem_.Rows() - 1);
  SetRow(builder_, builder_.Let("nx", ir::Min(row + PrefetchDistance(), last)), problem_.kept,
         problem_.dims, prefetch_at_);
}

void RowWalk::SetPreviousRow(const ExprRef& row) {
  previous_at_.assign(problem_.dims.size(), ir::Int(0));
  SetRow(builder_, row, problem_.kept, problem_.dims, previous_at_);
}

// Where this part of `units` begins; for the next part, where it ends.
ExprRef RowWalk::Cut(const ExprRef& part, int64_t units) {
  return ir::FloorDiv(part * units, knobs_.parts);
}
void RowWalk::ForPart(const std::string& name, int64_t units, bool is_cut,
                      const std::function<void(const ExprRef&)>& body) {
  if (!is_cut || knobs_.parts == 1) return builder_.For(name, units, body);
  const ExprRef begin = builder_.Let(name + "0", Cut(part_, units));
  const ExprRef end = builder_.Let(name + "1", Cut(part_ + 1, units));
  builder_.For(name, begin, end, 1, body);
}

// The prefetch distance in rows. Short rows end before memory answers: some KB.
int64_t RowWalk::PrefetchDistance() const {
  constexpr int64_t kPrefetchBytes = 4096;
  const int64_t row = problem_.Reduced() * problem_.Columns() * SizeOf(problem_.dtype);
  return std::max<int64_t>(1, kPrefetchBytes / std::max<int64_t>(1, row));
}

void RowWalk::Sweep(const Body& body) {
  ForPart("r", problem_.Reduced(), !CutsColumns(problem_, chains_), [&](const ExprRef& r) {
    std::vector<ExprRef> at = at_;
    SetRow(builder_, r, problem_.reduced, problem_.dims, at);
    if (problem_.column < 0) {
      body({Point{at, -1, 1, nullptr}, ir::Int(0), r, nullptr});
    } else if (problem_.inner) {
      SweepReduced(at, r, body);
    } else {
      SweepKept(at, r, body);
    }
  });
}

void RowWalk::SweepKept(std::vector<ExprRef> at, const ExprRef& r, const Body& body) {
  for (int j = 0; j < used_; ++j) {
    at[static_cast<size_t>(problem_.column)] = column_ + int64_t{j} * lanes_;
    const bool masked = j + 1 == used_ && tail_ != 0;
    Point point{at, problem_.column, lanes_, masked ? ir::Int(tail_) : nullptr};
    body({point, ir::Int(j), r * (int64_t{chains_} * lanes_) + int64_t{j} * lanes_, nullptr});
  }
}

void RowWalk::SweepReduced(std::vector<ExprRef> at, const ExprRef& r, const Body& body) {
  const int64_t columns = problem_.Columns();
  const int64_t step = int64_t{chains_} * lanes_;
  ExprRef& c = at[static_cast<size_t>(problem_.column)];
  const bool registers = knobs_.storage == RowStorage::kRegisters;
  const auto visit = [&](const ExprRef& chain, const ExprRef& slot, const ExprRef& half,
                         int64_t active) {
    Point point{at, problem_.column, lanes_, active == 0 ? nullptr : ir::Int(active)};
    body({point, chain, slot, half});
  };
  int64_t done = 0;
  if (!registers) {
    done = columns / step * step;
    ForPart("v", columns / step, CutsColumns(problem_, chains_), [&](const ExprRef& v) {
      builder_.Unrolled("j", chains_, [&](const ExprRef& j) {
        c = v * step + j * lanes_;
        visit(j, r * padded_ + c, v * (step / 2) + j * (lanes_ / 2), 0);
      });
    });
  }
  const auto rest = [&] {
    for (int j = 0; done < columns; done += lanes_, j = (j + 1) % chains_) {
      c = ir::Int(done);
      const ExprRef slot = registers ? ir::Int(done / lanes_) : r * padded_ + done;
      visit(ir::Int(j), slot, ir::Int(done / 2), columns - done < lanes_ ? columns - done : 0);
    }
  };
  if (knobs_.parts == 1 || !CutsColumns(problem_, chains_)) return rest();
  // The last part's.
  if (done < columns) {
    builder_.If(Do(ScalarOp::kLess, ir::Int(knobs_.parts - 2), part_), rest);
  }
}

ExprRef RowWalk::ComputeInput(const Visit& visit) {
  ExprRef x = fused_.Emit(problem_.x, visit.point);
  return x->type.lanes == lanes_ ? x : ir::MakeBroadcast(x, lanes_);
}
ExprRef RowWalk::Materialize(ExprRef value) {
  builder_.Set(value_, ir::Int(0), std::move(value));
  return builder_.Get(value_, ir::Int(0));
}
ExprRef RowWalk::WriteRowBuffer(const Visit& visit, ExprRef value) {
  if (knobs_.storage == RowStorage::kRegisters) {
    builder_.Set(row_buffer_, visit.slot, std::move(value));
    return builder_.Get(row_buffer_, visit.slot);
  }
  if (knobs_.storage == RowStorage::kNone) return value;
  value = Materialize(std::move(value));
  builder_.Store(row_buffer_, visit.slot, value);
  return value;
}
ExprRef RowWalk::ReadRowBuffer(const Visit& visit) {
  if (knobs_.storage == RowStorage::kNone) return ComputeInput(visit);
  if (knobs_.storage == RowStorage::kRegisters) return builder_.Get(row_buffer_, visit.slot);
  return builder_.Load(row_buffer_, visit.slot, lanes_);
}
ExprRef RowWalk::ReadPipelineBuffer(const Visit& visit) {
  builder_.Set(previous_, ir::Int(0), builder_.Load(pipeline_buffer_, visit.slot, lanes_));
  return builder_.Get(previous_, ir::Int(0));
}
ExprRef RowWalk::WritePipelineBuffer(const Visit& visit, ExprRef value) {
  value = Materialize(std::move(value));
  builder_.Store(pipeline_buffer_, visit.slot, value);
  return value;
}
ExprRef RowWalk::LoadInput(const Visit& visit) {
  return CopiesInput() ? WriteRowBuffer(visit, ComputeInput(visit)) : ComputeInput(visit);
}
ExprRef RowWalk::ReloadInput(const Visit& visit) {
  return CopiesInput() ? ReadRowBuffer(visit) : ComputeInput(visit);
}

double RowWalk::Count() const {
  return static_cast<double>(problem_.Reduced() * (problem_.inner ? problem_.Columns() : 1));
}

void RowWalk::Prefetch(const Visit& visit, PrefetchRows pass) {
  const bool both = knobs_.prefetch == PrefetchRows::kBothPasses;
  if (!both && knobs_.prefetch != pass) return;
  for (ValueId id : problem_.streams) {
    std::vector<ExprRef> at = visit.point.at;
    for (int d : problem_.kept) at[static_cast<size_t>(d)] = prefetch_at_[static_cast<size_t>(d)];
    if (both && visit.half) {
      const int64_t second = pass == PrefetchRows::kLastPass ? problem_.Columns() / 2 : 0;
      at[static_cast<size_t>(problem_.column)] = visit.half + second;
    }
    const auto& operands = workload_.operands();
    const auto operand = std::find(operands.begin(), operands.end(), id) - operands.begin();
    builder_.Prefetch(fused_.OperandBuffer(static_cast<int>(operand)),
                      fused_.Offset(workload_.graph()[id].type, at), 1);
  }
}

ExprRef RowWalk::Number(double value) const {
  if (IsFloat(problem_.dtype)) return ir::Float(problem_.dtype, value, lanes_);
  ExprRef scalar = std::make_shared<const ir::Expr>(
      ir::Expr{{problem_.dtype, 1}, ir::IntImm{static_cast<int64_t>(value)}});
  return lanes_ == 1 ? scalar : ir::MakeBroadcast(scalar, lanes_);
}
// For extrema of integers none exists as a double.
ExprRef RowWalk::Neutral(ScalarOp op) const {
  if (op == ScalarOp::kAdd) return Number(0);
  if (op == ScalarOp::kMul) return Number(1);
  if (IsFloat(problem_.dtype)) {
    const double inf = std::numeric_limits<double>::infinity();
    return Number(op == ScalarOp::kMax ? -inf : inf);
  }
  const bool is_signed = problem_.dtype != DType::kU8;
  const int bits = SizeOf(problem_.dtype) * 8 - (is_signed ? 1 : 0);
  const int64_t top = bits >= 63 ? std::numeric_limits<int64_t>::max() : (int64_t{1} << bits) - 1;
  const int64_t bottom = is_signed ? -top - 1 : 0;
  ExprRef scalar = std::make_shared<const ir::Expr>(
      ir::Expr{{problem_.dtype, 1}, ir::IntImm{op == ScalarOp::kMax ? bottom : top}});
  return lanes_ == 1 ? scalar : ir::MakeBroadcast(scalar, lanes_);
}

void RowWalk::Accumulate(ScalarOp op, ir::BufferId to,
                         const std::function<ExprRef(const Visit&)>& value) {
  for (int j = 0; j < Used(); ++j) builder_.Set(acc_, ir::Int(j), Neutral(op));
  Sweep([&](const Visit& visit) {
    ExprRef x = value(visit);
    if (visit.point.active && problem_.inner) {
      x = ir::MakeApply(ScalarOp::kSelect,
                        {ir::MakeLaneMask(visit.point.active, lanes_), x, Neutral(op)});
    }
    builder_.Set(acc_, visit.chain, Do(op, builder_.Get(acc_, visit.chain), x));
  });
  if (!problem_.inner) {
    for (int j = 0; j < used_; ++j) {
      builder_.Set(to, ir::Int(j), builder_.Get(acc_, ir::Int(j)));
    }
    return;
  }
  ExprRef total = builder_.Get(acc_, ir::Int(0));
  for (int j = 1; j < chains_; ++j) total = Do(op, total, builder_.Get(acc_, ir::Int(j)));
  if (lanes_ > 1) total = ir::MakeBroadcast(ir::MakeReduce(op, total), lanes_);
  builder_.Set(to, ir::Int(0), total);
}
ExprRef RowWalk::Result(ir::BufferId registers, const ExprRef& chain) {
  return builder_.Get(registers, problem_.inner ? ir::Int(0) : chain);
}
void RowWalk::Update(ir::BufferId registers, const std::function<ExprRef(ExprRef)>& function) {
  for (int j = 0; j < Results(); ++j) {
    builder_.Set(registers, ir::Int(j), function(builder_.Get(registers, ir::Int(j))));
  }
}

void RowWalk::StoreRow(const Visit& visit, ExprRef value, ExprRef x) {
  std::map<ValueId, ExprRef> bound = {{problem_.anchor, std::move(value)}};
  if (x && bind_x_) bound[problem_.x] = std::move(x);
  fused_.StoreOutputs(visit.point, bound, streaming_ && !visit.point.active);
}

void RowWalk::StorePreviousRow(const Visit& visit, ExprRef value) {
  Visit previous = visit;
  for (int d : problem_.kept) {
    previous.point.at[static_cast<size_t>(d)] = previous_at_[static_cast<size_t>(d)];
  }
  StoreRow(previous, std::move(value), nullptr);
}

// Where the j-th result of the row belongs, in the space of the kept dimensions.
Point RowWalk::ResultPoint(int j) const {
  std::vector<ExprRef> at = at_;
  Point point;
  if (!problem_.inner) {
    at[static_cast<size_t>(problem_.column)] = column_ + int64_t{j} * lanes_;
    point.lanes = lanes_;
    if (j + 1 == used_ && tail_ != 0) point.active = ir::Int(tail_);
  }
  const bool keepdims = node_.Int("keepdims") != 0;
  for (size_t d = 0; d < at.size(); ++d) {
    const bool is_column = static_cast<int>(d) == problem_.column;
    const auto& dims = problem_.kept;
    const bool kept = is_column
                          ? !problem_.inner
                          : std::find(dims.begin(), dims.end(), static_cast<int>(d)) != dims.end();
    if (!kept && !keepdims) continue;
    if (kept && is_column) point.dim = static_cast<int>(point.at.size());
    point.at.push_back(kept ? at[d] : ir::Int(0));
  }
  if (point.lanes == 1) point.dim = -1;
  return point;
}

void RowWalk::StoreResults() {
  for (int j = 0; j < Results(); ++j) {
    ExprRef value = builder_.Get(first_, ir::Int(j));
    if (problem_.inner && lanes_ > 1) {
      // All lanes are equal: any reduction by extremum gives the scalar.
      value = ir::MakeReduce(ScalarOp::kMax, value);
    }
    fused_.StoreOutputs(ResultPoint(j), {{problem_.anchor, value}});
  }
}

}  // namespace mlc::schedule
