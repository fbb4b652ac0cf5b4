#include "compiler/schedule/row_reduce_lower.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "compiler/schedule/fused.h"
#include "compiler/schedule/fused_rows.h"

namespace mlc::schedule {

using graph::Op;
using graph::Value;
using graph::ValueId;
using graph::Workload;
using ir::ExprRef;

namespace {

ExprRef Do(ScalarOp op, ExprRef a) { return ir::MakeApply(op, {std::move(a)}); }
ExprRef Do(ScalarOp op, ExprRef a, ExprRef b) {
  return ir::MakeApply(op, {std::move(a), std::move(b)});
}

// One visited vector of a row: where it is, which chain it belongs to, where the row is kept.
struct Visit {
  Point point;
  ExprRef chain;
  ExprRef slot;
  ExprRef half;  // half the column
};

class RowEmitter {
 public:
  RowEmitter(const Workload& workload, const target::Target& target, const RowProblem& problem,
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
    now_ = builder_.Registers("now", problem.dtype, lanes_, 1);
    if (knobs.keep == KeepRow::kScratch) {
      const int64_t width = problem.inner ? padded_ : int64_t{chains_} * lanes_;
      row_ = builder_.Thread("row", problem.dtype, problem.Reduced() * width);
    } else if (knobs.keep == KeepRow::kRegisters) {
      row_ = builder_.Registers("row", problem.dtype, lanes_, static_cast<int64_t>(vectors));
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

  LoweredKernel Run() {
    const int64_t rows = problem_.Rows();
    const int64_t width = int64_t{chains_} * lanes_;
    const int64_t whole = problem_.inner ? 1 : problem_.Columns() / width;
    const int64_t rest = problem_.inner ? 0 : problem_.Columns() % width;
    const int64_t blocks = whole + (rest > 0 ? 1 : 0);
    const int64_t chunks = (rows + knobs_.row_block - 1) / knobs_.row_block;
    builder_.Parallel("p", chunks * blocks, [&](const ExprRef& p) {
      const ExprRef chunk = builder_.Let("k", ir::FloorDiv(p, blocks));
      const ExprRef block = builder_.Let("b", ir::Mod(p, blocks));
      const ExprRef first = builder_.Let("r0", chunk * knobs_.row_block);
      const ExprRef last = rows % knobs_.row_block == 0
                               ? first + knobs_.row_block
                               : ir::Min(first + knobs_.row_block, ir::Int(rows));
      builder_.For("row", first, last, 1, [&](const ExprRef& row) {
        at_.assign(problem_.dims.size(), ir::Int(0));
        SetRow(builder_, row, problem_.kept, problem_.dims, at_);
        if (knobs_.fetch != FetchRows::kNever) {
          next_ = at_;
          const ExprRef next = builder_.Let("nx", ir::Min(row + RowsAhead(), ir::Int(rows - 1)));
          SetRow(builder_, next, problem_.kept, problem_.dims, next_);
        }
        if (problem_.inner) return Row();
        column_ = block * width;
        const auto tail = [&] {
          column_ = ir::Int(whole * width);
          used_ = static_cast<int>((rest + lanes_ - 1) / lanes_);
          tail_ = rest % lanes_;
          Row();
        };
        const auto full = [&] {
          used_ = chains_;
          tail_ = 0;
          Row();
        };
        if (rest == 0) return full();
        if (whole == 0) return tail();
        builder_.If(Do(ScalarOp::kLess, block, ir::Int(whole)), full, tail);
      });
    });
    return {builder_.Finish(), fused_.bindings(), {}};
  }

 private:
  using Body = std::function<void(const Visit&)>;

  // Short rows are over before memory answers: fetch some KB ahead.
  int64_t RowsAhead() const {
    constexpr int64_t kBytesAhead = 4096;
    const int64_t row = problem_.Reduced() * problem_.Columns() * SizeOf(problem_.dtype);
    return std::max<int64_t>(1, kBytesAhead / std::max<int64_t>(1, row));
  }

  // Every vector of the row, once. Kept rows are addressed by `slot`.
  void Sweep(const Body& body) {
    builder_.For("r", problem_.Reduced(), [&](const ExprRef& r) {
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

  void SweepKept(std::vector<ExprRef> at, const ExprRef& r, const Body& body) {
    for (int j = 0; j < used_; ++j) {
      at[static_cast<size_t>(problem_.column)] = column_ + int64_t{j} * lanes_;
      const bool masked = j + 1 == used_ && tail_ != 0;
      Point point{at, problem_.column, lanes_, masked ? ir::Int(tail_) : nullptr};
      body({point, ir::Int(j), r * (int64_t{chains_} * lanes_) + int64_t{j} * lanes_, nullptr});
    }
  }

  void SweepReduced(std::vector<ExprRef> at, const ExprRef& r, const Body& body) {
    const int64_t columns = problem_.Columns();
    const int64_t step = int64_t{chains_} * lanes_;
    ExprRef& c = at[static_cast<size_t>(problem_.column)];
    const bool registers = knobs_.keep == KeepRow::kRegisters;
    const auto visit = [&](const ExprRef& chain, const ExprRef& slot, const ExprRef& half,
                           int64_t active) {
      Point point{at, problem_.column, lanes_, active == 0 ? nullptr : ir::Int(active)};
      body({point, chain, slot, half});
    };
    int64_t done = 0;
    if (!registers) {
      done = columns / step * step;
      builder_.For("v", columns / step, [&](const ExprRef& v) {
        builder_.Unrolled("j", chains_, [&](const ExprRef& j) {
          c = v * step + j * lanes_;
          visit(j, r * padded_ + c, v * (step / 2) + j * (lanes_ / 2), 0);
        });
      });
    }
    for (int j = 0; done < columns; done += lanes_, j = (j + 1) % chains_) {
      c = ir::Int(done);
      const ExprRef slot = registers ? ir::Int(done / lanes_) : r * padded_ + done;
      visit(ir::Int(j), slot, ir::Int(done / 2), columns - done < lanes_ ? columns - done : 0);
    }
  }

  ExprRef Read(const Visit& visit) {
    ExprRef x = fused_.Emit(problem_.x, visit.point);
    return x->type.lanes == lanes_ ? x : ir::MakeBroadcast(x, lanes_);
  }
  // Computed once, read any number of times until the next call.
  ExprRef Once(ExprRef value, ir::BufferId slot) {
    builder_.Set(slot, ir::Int(0), std::move(value));
    return builder_.Get(slot, ir::Int(0));
  }
  // Keeps the value as the row's element and gives it back.
  ExprRef Keep(const Visit& visit, ExprRef value) {
    if (knobs_.keep == KeepRow::kRegisters) {
      builder_.Set(row_, visit.slot, std::move(value));
      return builder_.Get(row_, visit.slot);
    }
    if (knobs_.keep == KeepRow::kReread) return value;
    value = Once(std::move(value), now_);
    builder_.Store(row_, visit.slot, value);
    return value;
  }
  ExprRef Kept(const Visit& visit) {
    if (knobs_.keep == KeepRow::kScratch) return builder_.Load(row_, visit.slot, lanes_);
    if (knobs_.keep == KeepRow::kRegisters) return builder_.Get(row_, visit.slot);
    return Read(visit);
  }
  // Asks for the same place of a later row, while this one keeps the arithmetic busy. Where two
  // passes share the work, each asks for half of the row.
  void Fetch(const Visit& visit, FetchRows pass) {
    const bool both = knobs_.fetch == FetchRows::kBothPasses;
    if (!both && knobs_.fetch != pass) return;
    for (ValueId id : problem_.streams) {
      std::vector<ExprRef> at = visit.point.at;
      for (int d : problem_.kept) at[static_cast<size_t>(d)] = next_[static_cast<size_t>(d)];
      if (both && visit.half) {
        const int64_t second = pass == FetchRows::kLastPass ? problem_.Columns() / 2 : 0;
        at[static_cast<size_t>(problem_.column)] = visit.half + second;
      }
      const auto& operands = workload_.operands();
      const auto operand = std::find(operands.begin(), operands.end(), id) - operands.begin();
      builder_.Prefetch(fused_.OperandBuffer(static_cast<int>(operand)),
                        fused_.Offset(workload_.graph()[id].type, at), 1);
    }
  }

  // x of the first pass, kept for the next unless its own memory serves as well.
  bool Copies() const { return knobs_.keep == KeepRow::kRegisters || !problem_.plain; }
  ExprRef ReadAndKeep(const Visit& visit) {
    return Copies() ? Keep(visit, Read(visit)) : Read(visit);
  }
  ExprRef KeptX(const Visit& visit) { return Copies() ? Kept(visit) : Read(visit); }

  ExprRef Number(double value, int lanes) const {
    if (IsFloat(problem_.dtype)) return ir::Float(problem_.dtype, value, lanes);
    ExprRef scalar = std::make_shared<const ir::Expr>(
        ir::Expr{{problem_.dtype, 1}, ir::IntImm{static_cast<int64_t>(value)}});
    return lanes == 1 ? scalar : ir::MakeBroadcast(scalar, lanes);
  }
  // The value that changes nothing; for extrema of integers none exists as a double.
  ExprRef Neutral(ScalarOp op) const {
    if (op == ScalarOp::kAdd) return Number(0, lanes_);
    if (op == ScalarOp::kMul) return Number(1, lanes_);
    if (IsFloat(problem_.dtype)) {
      const double inf = std::numeric_limits<double>::infinity();
      return Number(op == ScalarOp::kMax ? -inf : inf, lanes_);
    }
    const bool is_signed = problem_.dtype != DType::kU8;
    const int bits = SizeOf(problem_.dtype) * 8 - (is_signed ? 1 : 0);
    const int64_t top = bits >= 63 ? std::numeric_limits<int64_t>::max() : (int64_t{1} << bits) - 1;
    const int64_t bottom = is_signed ? -top - 1 : 0;
    ExprRef scalar = std::make_shared<const ir::Expr>(
        ir::Expr{{problem_.dtype, 1}, ir::IntImm{op == ScalarOp::kMax ? bottom : top}});
    return lanes_ == 1 ? scalar : ir::MakeBroadcast(scalar, lanes_);
  }

  // acc = op over `value` of every vector of the row; then into each register of `to`, broadcast.
  void Accumulate(ScalarOp op, ir::BufferId to, const std::function<ExprRef(const Visit&)>& value) {
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
  int Used() const { return problem_.inner ? chains_ : used_; }
  int Results() const { return problem_.inner ? 1 : used_; }
  ExprRef Result(ir::BufferId registers, const ExprRef& chain) {
    return builder_.Get(registers, problem_.inner ? ir::Int(0) : chain);
  }
  void Update(ir::BufferId registers, const std::function<ExprRef(ExprRef)>& function) {
    for (int j = 0; j < Results(); ++j) {
      builder_.Set(registers, ir::Int(j), function(builder_.Get(registers, ir::Int(j))));
    }
  }

  void Row() {
    switch (node_.op) {
      case Op::kSoftmax:
        return Softmax();
      case Op::kLogSoftmax:
        return LogSoftmax();
      case Op::kLayerNorm:
        return LayerNorm();
      default:
        return Reduce();
    }
  }

  void StoreRow(const Visit& visit, ExprRef value, ExprRef x) {
    std::map<ValueId, ExprRef> bound = {{problem_.anchor, std::move(value)}};
    if (x && bind_x_) bound[problem_.x] = std::move(x);
    fused_.StoreOutputs(visit.point, bound, streaming_ && !visit.point.active);
  }

  void Softmax() {
    Accumulate(ScalarOp::kMax, first_, [&](const Visit& v) { return ReadAndKeep(v); });
    const auto power = [&](const Visit& v) {
      return Do(ScalarOp::kExp, Do(ScalarOp::kSub, KeptX(v), Result(first_, v.chain)));
    };
    const bool reread = knobs_.keep == KeepRow::kReread;
    Accumulate(ScalarOp::kAdd, second_, [&](const Visit& v) {
      Fetch(v, FetchRows::kSecondPass);
      return Keep(v, power(v));
    });
    Update(second_,
           [&](ExprRef sum) { return Do(ScalarOp::kDiv, Number(1, lanes_), std::move(sum)); });
    Sweep([&](const Visit& v) {
      Fetch(v, FetchRows::kLastPass);
      const ExprRef e = reread ? power(v) : Kept(v);
      StoreRow(v, Do(ScalarOp::kMul, e, Result(second_, v.chain)), nullptr);
    });
  }

  void LogSoftmax() {
    Accumulate(ScalarOp::kMax, first_, [&](const Visit& v) { return ReadAndKeep(v); });
    Accumulate(ScalarOp::kAdd, second_, [&](const Visit& v) {
      Fetch(v, FetchRows::kSecondPass);
      return Do(ScalarOp::kExp, Do(ScalarOp::kSub, KeptX(v), Result(first_, v.chain)));
    });
    Update(second_, [&](ExprRef sum) { return Do(ScalarOp::kLog, std::move(sum)); });
    Sweep([&](const Visit& v) {
      Fetch(v, FetchRows::kLastPass);
      const ExprRef x = Once(KeptX(v), now_);
      const ExprRef shifted = Do(ScalarOp::kSub, x, Result(first_, v.chain));
      StoreRow(v, Do(ScalarOp::kSub, shifted, Result(second_, v.chain)), x);
    });
  }

  // Scale or bias of the layer norm at a point of x.
  ExprRef Parameter(size_t operand, const Point& at) {
    const ValueId id = node_.operands[operand];
    const int skip = static_cast<int>(problem_.dims.size()) - workload_.graph()[id].type.rank();
    Point point = at;
    point.at.erase(point.at.begin(), point.at.begin() + skip);
    point.dim = at.dim - skip;
    if (point.dim < 0) point.lanes = 1;
    ExprRef value = fused_.Emit(id, point);
    return value->type.lanes == lanes_ ? value : ir::MakeBroadcast(value, lanes_);
  }
  bool HasOperand(size_t operand) const {
    return operand < node_.operands.size() && node_.operands[operand] != graph::kNoValue;
  }

  void LayerNorm() {
    const double count =
        static_cast<double>(problem_.Reduced() * (problem_.inner ? problem_.Columns() : 1));
    Accumulate(ScalarOp::kAdd, first_, [&](const Visit& v) { return ReadAndKeep(v); });
    Update(first_,
           [&](ExprRef s) { return Do(ScalarOp::kMul, std::move(s), Number(1 / count, lanes_)); });
    Accumulate(ScalarOp::kAdd, second_, [&](const Visit& v) {
      Fetch(v, FetchRows::kSecondPass);
      const ExprRef d = Once(Do(ScalarOp::kSub, KeptX(v), Result(first_, v.chain)), now_);
      return Do(ScalarOp::kMul, d, d);
    });
    Update(second_, [&](ExprRef s) {
      const ExprRef variance = Do(ScalarOp::kMul, std::move(s), Number(1 / count, lanes_));
      const ExprRef shifted = Do(ScalarOp::kAdd, variance, Number(node_.Float("epsilon"), lanes_));
      return Do(ScalarOp::kDiv, Number(1, lanes_), Do(ScalarOp::kSqrt, shifted));
    });
    Sweep([&](const Visit& v) {
      Fetch(v, FetchRows::kLastPass);
      const ExprRef x = Once(KeptX(v), now_);
      ExprRef y = Do(ScalarOp::kMul, Do(ScalarOp::kSub, x, Result(first_, v.chain)),
                     Result(second_, v.chain));
      if (HasOperand(1) && HasOperand(2)) {
        y = ir::MakeApply(ScalarOp::kFma, {y, Parameter(1, v.point), Parameter(2, v.point)});
      } else if (HasOperand(1)) {
        y = Do(ScalarOp::kMul, y, Parameter(1, v.point));
      } else if (HasOperand(2)) {
        y = Do(ScalarOp::kAdd, y, Parameter(2, v.point));
      }
      StoreRow(v, y, x);
    });
  }

  void Reduce() {
    const std::string& kind = node_.Word("kind");
    const double count =
        static_cast<double>(problem_.Reduced() * (problem_.inner ? problem_.Columns() : 1));
    if (kind == "log_sum_exp") {
      Accumulate(ScalarOp::kMax, first_, [&](const Visit& v) { return ReadAndKeep(v); });
      Accumulate(ScalarOp::kAdd, second_, [&](const Visit& v) {
        return Do(ScalarOp::kExp, Do(ScalarOp::kSub, KeptX(v), Result(first_, v.chain)));
      });
      for (int j = 0; j < Results(); ++j) {
        const ExprRef log = Do(ScalarOp::kLog, builder_.Get(second_, ir::Int(j)));
        builder_.Set(first_, ir::Int(j), Do(ScalarOp::kAdd, builder_.Get(first_, ir::Int(j)), log));
      }
    } else {
      const ScalarOp op = kind == "max"    ? ScalarOp::kMax
                          : kind == "min"  ? ScalarOp::kMin
                          : kind == "prod" ? ScalarOp::kMul
                                           : ScalarOp::kAdd;
      const bool square = kind == "l2" || kind == "sum_square";
      Accumulate(op, first_, [&](const Visit& v) {
        const ExprRef x = square ? Once(Read(v), now_) : Read(v);
        if (kind == "l1") return Do(ScalarOp::kAbs, x);
        return square ? Do(ScalarOp::kMul, x, x) : x;
      });
      if (kind == "mean") {
        Update(first_,
               [&](ExprRef s) { return Do(ScalarOp::kDiv, std::move(s), Number(count, lanes_)); });
      }
      if (kind == "l2")
        Update(first_, [&](ExprRef s) { return Do(ScalarOp::kSqrt, std::move(s)); });
    }
    StoreResults();
  }

  // Results of kReduce live in the space of the kept dimensions.
  void StoreResults() {
    const bool keepdims = node_.Int("keepdims") != 0;
    for (int j = 0; j < Results(); ++j) {
      std::vector<ExprRef> at = at_;
      Point point;
      if (!problem_.inner) {
        at[static_cast<size_t>(problem_.column)] = column_ + int64_t{j} * lanes_;
        point.lanes = lanes_;
        if (j + 1 == used_ && tail_ != 0) point.active = ir::Int(tail_);
      }
      for (size_t d = 0; d < at.size(); ++d) {
        const bool kept = static_cast<int>(d) == problem_.column
                              ? !problem_.inner
                              : std::find(problem_.kept.begin(), problem_.kept.end(),
                                          static_cast<int>(d)) != problem_.kept.end();
        if (!kept && !keepdims) continue;
        if (kept && static_cast<int>(d) == problem_.column) {
          point.dim = static_cast<int>(point.at.size());
        }
        point.at.push_back(kept ? at[d] : ir::Int(0));
      }
      ExprRef value = builder_.Get(first_, ir::Int(j));
      if (problem_.inner && lanes_ > 1) {
        // All lanes are equal: any reduction by extremum gives the scalar.
        value = ir::MakeReduce(ScalarOp::kMax, value);
      }
      if (point.lanes == 1) point.dim = -1;
      fused_.StoreOutputs(point, {{problem_.anchor, value}});
    }
  }

  const Workload& workload_;
  const RowProblem& problem_;
  const RowKnobs& knobs_;
  const Value& node_;
  ir::KernelBuilder builder_;
  Fused fused_;
  const int lanes_;
  int chains_ = 1;
  int64_t padded_ = 1;
  bool streaming_ = false;
  bool bind_x_ = false;
  ir::BufferId acc_ = 0, first_ = 0, second_ = 0, row_ = 0, now_ = 0;
  std::vector<ExprRef> at_;
  std::vector<ExprRef> next_;  // the next row
  ExprRef column_;             // first column of the block, where columns are kept
  int used_ = 1;               // vectors of the block
  int64_t tail_ = 0;           // active lanes of its last vector; 0 for all
};

}  // namespace

LoweredKernel LowerRows(const Workload& workload, const target::Target& target,
                        const RowProblem& problem, const RowKnobs& knobs) {
  return RowEmitter(workload, target, problem, knobs).Run();
}

}  // namespace mlc::schedule
