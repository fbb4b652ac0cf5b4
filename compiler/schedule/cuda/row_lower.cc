#include <algorithm>
#include <functional>
#include <limits>

#include "compiler/schedule/cuda/gpu_launch.h"
#include "compiler/schedule/cuda/row_group.h"
#include "compiler/schedule/cuda/row_plan.h"
#include "compiler/schedule/fused.h"
#include "compiler/schedule/fused_rows.h"

namespace mlc::schedule::gpu {

using graph::Op;
using graph::Value;
using graph::ValueId;
using graph::Workload;
using ir::ExprRef;

namespace {

// Registers of a block for rows with their scale and bias, a part of all.
constexpr int64_t kPreloaded = 24576;

// One vector of an item: where it is, where it is kept, which accumulator it belongs to.
struct Visit {
  Point point;
  ExprRef slot;
  ExprRef chain;
};

class RowEmitter {
 public:
  RowEmitter(const Workload& workload, const RowPlan& plan)
      : workload_(workload),
        plan_(plan),
        problem_(plan.problem),
        node_(workload.graph()[problem_.anchor]),
        builder_("row_reduce"),
        fused_(workload, builder_),
        group_(builder_, plan),
        lanes_(plan.lanes) {
    if (AllNarrow(workload)) builder_.Approximate();
    const int result_lanes = problem_.inner ? 1 : lanes_;
    acc_ = builder_.Registers("acc", problem_.dtype, lanes_, kRowUnroll);
    first_ = builder_.Registers("first", problem_.dtype, result_lanes, 1);
    second_ = builder_.Registers("second", problem_.dtype, result_lanes, 1);
    now_ = builder_.Registers("now", problem_.dtype, lanes_, 1);
    if (plan.keep) row_ = builder_.Registers("row", problem_.dtype, lanes_, plan.slots());
    preloads_ = plan.keep && node_.op == Op::kLayerNorm && IsWeight(1) && IsWeight(2) &&
                3 * plan.slots() * lanes_ * plan.threads <= kPreloaded;
    if (preloads_) {
      scale_ = builder_.Registers("scale", problem_.dtype, lanes_, plan.slots());
      bias_ = builder_.Registers("bias", problem_.dtype, lanes_, plan.slots());
    }
    const ValueId both[] = {problem_.anchor, problem_.x};
    bind_x_ = std::all_of(workload.outputs().begin(), workload.outputs().end(),
                          [&](ValueId id) { return Fused::Covers(workload, id, both); });
  }

  LoweredKernel Run() {
    const int64_t splits = plan_.splits;
    if (splits > 1) {
      const int64_t parts = plan_.items * splits * (problem_.inner ? 1 : lanes_);
      partial_ = builder_.Shared("partial", problem_.dtype, parts);
      counter_ = builder_.Counter("arrived", plan_.item_blocks());
    }
    builder_.Launch(plan_.item_blocks() * splits, plan_.threads, 0,
                    [&](const ExprRef& block, const ExprRef& thread) {
                      builder_.ReleaseDependents();
                      split_ = builder_.Let("split", ir::Mod(block, splits));
                      item_block_ = builder_.Let("ib", ir::FloorDiv(block, splits));
                      Locate(thread);
                      if (preloads_) PreloadParameters();
                      builder_.AwaitInputs();
                      Item();
                    });
    return {builder_.Finish(), fused_.bindings(), {}};
  }

 private:
  using Body = std::function<void(const Visit&)>;

  // This thread's item and place in its group.
  void Locate(const ExprRef& thread) {
    const int items = plan_.items_per_block();
    group_.SetThread(thread);
    lane_ = group_.lane();
    const ExprRef item = builder_.Let("item", item_block_ * items + group_.item());
    inside_ = plan_.items % items == 0 ? nullptr : Less(item, ir::Int(plan_.items));
    item_ = inside_ ? builder_.Let("it", ir::Min(item, ir::Int(plan_.items - 1))) : item;
    at_.assign(problem_.dims.size(), ir::Int(0));
    if (problem_.inner) return SetRow(builder_, item_, problem_.kept, problem_.dims, at_);
    const int64_t columns = plan_.column_vectors();
    SetRow(builder_, builder_.Let("row", ir::FloorDiv(item_, columns)), problem_.kept,
           problem_.dims, at_);
    at_[static_cast<size_t>(problem_.column)] =
        builder_.Let("cv", ir::Mod(item_, columns)) * int64_t{lanes_};
  }

  void VisitVector(const ExprRef& index, const ExprRef& slot, const ExprRef& chain,
                   const Body& body) {
    std::vector<ExprRef> at = at_;
    const int64_t columns = plan_.column_vectors();
    ExprRef r = index;
    if (problem_.inner && problem_.column >= 0) {
      ExprRef& column = at[static_cast<size_t>(problem_.column)];
      const bool one = problem_.Reduced() == 1;
      column = (one ? index : builder_.Let("c", ir::Mod(index, columns))) * int64_t{lanes_};
      r = one ? ir::Int(0) : builder_.Let("r", ir::FloorDiv(index, columns));
    }
    SetRow(builder_, r, problem_.reduced, problem_.dims, at);
    const int dim = lanes_ > 1 ? problem_.column : -1;
    body({Point{at, dim, lanes_, nullptr}, slot, chain});
  }

  // The thread's vectors of the item; rows kept in registers are unrolled as a whole.
  void Sweep(const Body& body) {
    if (plan_.splits > 1) return SweepSplit(body);
    const int64_t group = plan_.group;
    const int64_t whole = plan_.vectors / group;
    const auto visit = [&](const ExprRef& slot, const ExprRef& chain) {
      VisitVector(builder_.Let("n", slot * group + lane_), slot, chain, body);
    };
    int64_t done = 0;
    const int64_t rounds = plan_.keep ? 0 : whole / kRowUnroll;
    if (rounds > 0) {
      builder_.For("i", rounds, [&](const ExprRef& i) {
        builder_.Unrolled("j", kRowUnroll, [&](const ExprRef& j) { visit(i * kRowUnroll + j, j); });
      });
      done = rounds * kRowUnroll;
    }
    builder_.Unrolled("i", whole - done,
                      [&](const ExprRef& i) { visit(i + done, plan_.keep ? ir::Int(0) : i); });
    if (plan_.vectors % group == 0) return;
    builder_.If(Less(lane_, ir::Int(plan_.vectors % group)),
                [&] { visit(ir::Int(whole), ir::Int(0)); });
  }

  void SweepSplit(const Body& body) {
    const int64_t round = int64_t{plan_.group} * kRowUnroll;
    const auto sweep = [&](int64_t count) {
      const auto visit = [&](const ExprRef& i, const ExprRef& j) {
        const ExprRef n = builder_.Let(
            "n", split_ * plan_.per_split + i * round + (j * int64_t{plan_.group} + lane_));
        const auto one = [&] { VisitVector(n, j, j, body); };
        if (count == plan_.per_split) return one();
        builder_.If(Less(n, ir::Int(plan_.vectors)), one);
      };
      builder_.For("i", CeilDiv(count, round), [&](const ExprRef& i) {
        builder_.Unrolled("j", kRowUnroll, [&](const ExprRef& j) { visit(i, j); });
      });
    };
    const int64_t last = plan_.vectors - (plan_.splits - 1) * plan_.per_split;
    if (last == plan_.per_split) return sweep(last);
    builder_.If(
        Less(split_, ir::Int(plan_.splits - 1)), [&] { sweep(plan_.per_split); },
        [&] { sweep(last); });
  }

  ExprRef Read(const Visit& visit) { return Widened(fused_.Emit(problem_.x, visit.point), lanes_); }
  ExprRef Once(ExprRef value) {
    builder_.Set(now_, ir::Int(0), std::move(value));
    return builder_.Get(now_, ir::Int(0));
  }
  ExprRef Keep(const Visit& visit, ExprRef value) {
    if (!plan_.keep) return value;
    builder_.Set(row_, visit.slot, std::move(value));
    return builder_.Get(row_, visit.slot);
  }
  ExprRef Kept(const Visit& visit) {
    return plan_.keep ? builder_.Get(row_, visit.slot) : Read(visit);
  }
  ExprRef Result(ir::BufferId registers) {
    return Widened(builder_.Get(registers, ir::Int(0)), lanes_);
  }
  ExprRef Number(double value, int lanes) const {
    if (IsFloat(problem_.dtype)) return ir::Float(problem_.dtype, value, lanes);
    return Widened(std::make_shared<const ir::Expr>(
                       ir::Expr{{problem_.dtype, 1}, ir::IntImm{static_cast<int64_t>(value)}}),
                   lanes);
  }

  // `to` = op over `value` of every vector of the item, in all threads of the group.
  void Accumulate(ScalarOp op, ir::BufferId to, const std::function<ExprRef(const Visit&)>& value) {
    const int64_t chains =
        std::clamp<int64_t>(plan_.splits > 1 ? kRowUnroll : plan_.vectors / plan_.group, 1,
                            plan_.keep ? 1 : kRowUnroll);
    for (int64_t j = 0; j < chains; ++j) {
      builder_.Set(acc_, ir::Int(j), NeutralOf(op, problem_.dtype, lanes_));
    }
    Sweep([&](const Visit& visit) {
      builder_.Set(acc_, visit.chain, Do(op, builder_.Get(acc_, visit.chain), value(visit)));
    });
    ExprRef total = builder_.Get(acc_, ir::Int(0));
    for (int64_t j = 1; j < chains; ++j) total = Do(op, total, builder_.Get(acc_, ir::Int(j)));
    if (problem_.inner && lanes_ > 1) total = ir::MakeReduce(op, total);
    builder_.Set(to, ir::Int(0), total);
    group_.Combine(op, to);
    if (plan_.splits > 1) ShareSplits(op, to);
  }

  // Leaves the total of all splits in the block that comes last; the others are done.
  void ShareSplits(ScalarOp op, ir::BufferId to) {
    const int width = problem_.inner ? 1 : lanes_;
    const auto slot = [&](const ExprRef& split) {
      return (split * plan_.items + item_) * int64_t{width};
    };
    builder_.If(IfFirst(),
                [&] { builder_.Store(partial_, slot(split_), builder_.Get(to, ir::Int(0))); });
    last_ = builder_.Arrive("last", counter_, item_block_, plan_.splits);
    builder_.If(Less(ir::Int(0), last_), [&] {
      builder_.Barrier();
      builder_.Set(to, ir::Int(0), NeutralOf(op, problem_.dtype, width));
      builder_.For("s", lane_, ir::Int(plan_.splits), plan_.group, [&](const ExprRef& s) {
        builder_.Set(to, ir::Int(0),
                     Do(op, builder_.Get(to, ir::Int(0)), builder_.Load(partial_, slot(s), width)));
      });
      group_.Combine(op, to);
    });
  }

  // True in one thread of each group whose item exists.
  ExprRef IfFirst() const {
    const ExprRef first = Less(lane_, ir::Int(1));
    return inside_ ? Do(ScalarOp::kAnd, inside_, first) : first;
  }

  void Update(ir::BufferId registers, const std::function<ExprRef(ExprRef, int)>& function) {
    const ExprRef value = builder_.Get(registers, ir::Int(0));
    builder_.Set(registers, ir::Int(0), function(value, value->type.lanes));
  }

  void Item() {
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

  void SweepAndStore(const Body& body) {
    if (!inside_) return Sweep(body);
    builder_.If(inside_, [&] { Sweep(body); });
  }
  void StoreRow(const Visit& visit, ExprRef value, ExprRef x) {
    std::map<ValueId, ExprRef> bound = {{problem_.anchor, std::move(value)}};
    if (x && bind_x_) bound[problem_.x] = std::move(x);
    fused_.StoreOutputs(visit.point, bound);
  }

  ExprRef Shifted(const Visit& v) { return Do(ScalarOp::kSub, Kept(v), Result(first_)); }

  void Softmax() {
    Accumulate(ScalarOp::kMax, first_, [&](const Visit& v) { return Keep(v, Read(v)); });
    Accumulate(ScalarOp::kAdd, second_,
               [&](const Visit& v) { return Keep(v, Do(ScalarOp::kExp, Shifted(v))); });
    Update(second_,
           [&](ExprRef sum, int lanes) { return Do(ScalarOp::kDiv, Number(1, lanes), sum); });
    SweepAndStore([&](const Visit& v) {
      const ExprRef e = plan_.keep ? Kept(v) : Do(ScalarOp::kExp, Shifted(v));
      StoreRow(v, Do(ScalarOp::kMul, e, Result(second_)), nullptr);
    });
  }

  void LogSoftmax() {
    Accumulate(ScalarOp::kMax, first_, [&](const Visit& v) { return Keep(v, Read(v)); });
    Accumulate(ScalarOp::kAdd, second_,
               [&](const Visit& v) { return Do(ScalarOp::kExp, Shifted(v)); });
    Update(second_, [&](ExprRef sum, int) { return Do(ScalarOp::kLog, sum); });
    SweepAndStore([&](const Visit& v) {
      const ExprRef x = Once(Kept(v));
      const ExprRef shifted = Do(ScalarOp::kSub, x, Result(first_));
      StoreRow(v, Do(ScalarOp::kSub, shifted, Result(second_)), x);
    });
  }

  double Count() const {
    return static_cast<double>(problem_.Reduced() * (problem_.inner ? problem_.Columns() : 1));
  }
  bool HasOperand(size_t operand) const {
    return operand < node_.operands.size() && node_.operands[operand] != graph::kNoValue;
  }
  // Scale or bias of the layer norm at a point of x.
  ExprRef Parameter(size_t operand, const Point& at) {
    const ValueId id = node_.operands[operand];
    const int skip = static_cast<int>(problem_.dims.size()) - workload_.graph()[id].type.rank();
    Point point = at;
    point.at.erase(point.at.begin(), point.at.begin() + skip);
    point.dim = at.dim - skip;
    if (point.dim < 0) point.lanes = 1;
    return Widened(fused_.Emit(id, point), lanes_);
  }

  bool IsWeight(size_t operand) const {
    return HasOperand(operand) && workload_.graph()[node_.operands[operand]].op == Op::kWeight;
  }
  // Scale and bias are constant: they are on their way while earlier launches end.
  void PreloadParameters() {
    Sweep([&](const Visit& v) {
      builder_.Set(scale_, v.slot, Parameter(1, v.point));
      builder_.Set(bias_, v.slot, Parameter(2, v.point));
    });
  }

  void LayerNorm() {
    const double count = Count();
    Accumulate(ScalarOp::kAdd, first_, [&](const Visit& v) { return Keep(v, Read(v)); });
    Update(first_,
           [&](ExprRef s, int lanes) { return Do(ScalarOp::kMul, s, Number(1 / count, lanes)); });
    Accumulate(ScalarOp::kAdd, second_, [&](const Visit& v) {
      const ExprRef d = Once(Shifted(v));
      return Do(ScalarOp::kMul, d, d);
    });
    Update(second_, [&](ExprRef s, int lanes) {
      const ExprRef variance = Do(ScalarOp::kMul, s, Number(1 / count, lanes));
      const ExprRef shifted = Do(ScalarOp::kAdd, variance, Number(node_.Float("epsilon"), lanes));
      return Do(ScalarOp::kDiv, Number(1, lanes), Do(ScalarOp::kSqrt, shifted));
    });
    SweepAndStore([&](const Visit& v) {
      const ExprRef x = Once(Kept(v));
      ExprRef y = Do(ScalarOp::kMul, Do(ScalarOp::kSub, x, Result(first_)), Result(second_));
      if (preloads_) {
        y = ir::MakeApply(ScalarOp::kFma,
                          {y, builder_.Get(scale_, v.slot), builder_.Get(bias_, v.slot)});
      } else if (HasOperand(1) && HasOperand(2)) {
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
    if (kind == "log_sum_exp") {
      Accumulate(ScalarOp::kMax, first_, [&](const Visit& v) { return Keep(v, Read(v)); });
      Accumulate(ScalarOp::kAdd, second_,
                 [&](const Visit& v) { return Do(ScalarOp::kExp, Shifted(v)); });
      Update(first_, [&](ExprRef top, int) {
        return Do(ScalarOp::kAdd, top, Do(ScalarOp::kLog, builder_.Get(second_, ir::Int(0))));
      });
      return StoreResult();
    }
    const ScalarOp op = kind == "max"    ? ScalarOp::kMax
                        : kind == "min"  ? ScalarOp::kMin
                        : kind == "prod" ? ScalarOp::kMul
                                         : ScalarOp::kAdd;
    const bool square = kind == "l2" || kind == "sum_square";
    Accumulate(op, first_, [&](const Visit& v) {
      const ExprRef x = square ? Once(Read(v)) : Read(v);
      if (kind == "l1") return Do(ScalarOp::kAbs, x);
      return square ? Do(ScalarOp::kMul, x, x) : x;
    });
    const auto finish = [&] {
      if (kind == "mean") {
        Update(first_,
               [&](ExprRef s, int lanes) { return Do(ScalarOp::kDiv, s, Number(Count(), lanes)); });
      }
      if (kind == "l2") Update(first_, [&](ExprRef s, int) { return Do(ScalarOp::kSqrt, s); });
      StoreResult();
    };
    if (plan_.splits == 1) return finish();
    builder_.If(Less(ir::Int(0), last_), finish);
  }

  // Results of kReduce live in the space of the kept dimensions.
  void StoreResult() {
    const bool keepdims = node_.Int("keepdims") != 0;
    Point point;
    for (int d = 0; d < static_cast<int>(at_.size()); ++d) {
      const bool is_column = d == problem_.column;
      const bool kept = is_column ? !problem_.inner
                                  : std::find(problem_.kept.begin(), problem_.kept.end(), d) !=
                                        problem_.kept.end();
      if (!kept && !keepdims) continue;
      if (kept && is_column && lanes_ > 1) {
        point.dim = static_cast<int>(point.at.size());
        point.lanes = lanes_;
      }
      point.at.push_back(kept ? at_[static_cast<size_t>(d)] : ir::Int(0));
    }
    builder_.If(IfFirst(), [&] {
      fused_.StoreOutputs(point, {{problem_.anchor, builder_.Get(first_, ir::Int(0))}});
    });
  }

  const Workload& workload_;
  const RowPlan& plan_;
  const RowProblem& problem_;
  const Value& node_;
  ir::KernelBuilder builder_;
  Fused fused_;
  RowGroup group_;
  const int lanes_;
  bool bind_x_ = false;
  bool preloads_ = false;  // scale and bias of a layer norm
  ir::BufferId acc_ = 0, first_ = 0, second_ = 0, now_ = 0, row_ = 0, partial_ = 0, counter_ = 0;
  ir::BufferId scale_ = 0, bias_ = 0;
  ExprRef split_, item_block_, item_, lane_, inside_, last_;
  std::vector<ExprRef> at_;
};

}  // namespace

LoweredKernel LowerGpuRows(const Workload& workload, const RowPlan& plan) {
  return RowEmitter(workload, plan).Run();
}

}  // namespace mlc::schedule::gpu
