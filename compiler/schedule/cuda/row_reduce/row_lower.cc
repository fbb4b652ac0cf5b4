#include <algorithm>
#include <functional>
#include <map>

#include "compiler/schedule/cuda/row_reduce/layer_norm_scale.h"
#include "compiler/schedule/cuda/row_reduce/row_group.h"
#include "compiler/schedule/cuda/row_reduce/row_plan.h"
#include "compiler/schedule/cuda/row_reduce/row_splits.h"
#include "compiler/schedule/cuda/row_reduce/row_sweep.h"
#include "compiler/schedule/cuda/tile/gpu_launch.h"
#include "compiler/schedule/fusion/fused.h"

namespace mlc::schedule::gpu {

using graph::Op;
using graph::Value;
using graph::ValueId;
using graph::Workload;
using ir::ExprRef;

namespace {

class RowEmitter {
 public:
  RowEmitter(const Workload& workload, const RowPlan& plan)
      : plan_(plan),
        problem_(plan.problem),
        node_(workload.graph()[problem_.anchor]),
        lanes_(plan.lanes),
        bind_x_(CanBindX(workload)),
        builder_("row_reduce"),
        fused_(workload, builder_),
        group_(builder_, plan),
        sweep_(builder_, plan, group_),
        acc_(builder_.Registers("acc", problem_.dtype, lanes_, kRowUnroll)),
        first_(builder_.Registers("first", problem_.dtype, ResultLanes(), 1)),
        second_(builder_.Registers("second", problem_.dtype, ResultLanes(), 1)),
        now_(builder_.Registers("now", problem_.dtype, lanes_, 1)),
        row_(plan.keep ? builder_.Registers("row", problem_.dtype, lanes_, plan.slots()) : 0),
        scale_(workload, plan, fused_, builder_),
        splits_(builder_, plan, sweep_, group_) {
    if (AllNarrow(workload)) builder_.Approximate();
  }

  LoweredKernel Run() {
    builder_.Launch(plan_.item_blocks() * plan_.splits, plan_.threads, 0,
                    [&](const ExprRef& block, const ExprRef& thread) {
                      builder_.ReleaseDependents();
                      sweep_.Locate(block, thread);
                      scale_.Preload(sweep_);
                      builder_.AwaitInputs();
                      Item();
                    });
    return {builder_.Finish(), fused_.bindings(), {}};
  }

 private:
  // Outputs may read x itself beside the anchor: what the row keeps of it serves them.
  bool CanBindX(const Workload& workload) const {
    const ValueId both[] = {problem_.anchor, problem_.x};
    return std::all_of(workload.outputs().begin(), workload.outputs().end(),
                       [&](ValueId id) { return Fused::Covers(workload, id, both); });
  }

  int ResultLanes() const { return problem_.inner ? 1 : lanes_; }

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

  // A vector of x from memory; Kept() spares that where the plan keeps rows.
  ExprRef Read(const RowVisit& visit) {
    return Widened(fused_.Emit(problem_.x, visit.point), lanes_);
  }
  // The value, emitted once for all its uses until the next call.
  ExprRef Once(ExprRef value) {
    builder_.Set(now_, ir::Int(0), std::move(value));
    return builder_.Get(now_, ir::Int(0));
  }
  ExprRef Keep(const RowVisit& visit, ExprRef value) {
    if (!plan_.keep) return value;
    builder_.Set(row_, visit.slot, std::move(value));
    return builder_.Get(row_, visit.slot);
  }
  ExprRef Kept(const RowVisit& visit) {
    return plan_.keep ? builder_.Get(row_, visit.slot) : Read(visit);
  }
  // A statistic of the item, in all lanes.
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
  void Accumulate(ScalarOp op, ir::BufferId to,
                  const std::function<ExprRef(const RowVisit&)>& value) {
    const int64_t chains =
        std::clamp<int64_t>(plan_.splits > 1 ? kRowUnroll : plan_.vectors / plan_.group, 1,
                            plan_.keep ? 1 : kRowUnroll);
    for (int64_t j = 0; j < chains; ++j) {
      builder_.Set(acc_, ir::Int(j), NeutralOf(op, problem_.dtype, lanes_));
    }
    sweep_.ForVectors([&](const RowVisit& visit) {
      builder_.Set(acc_, visit.chain, Do(op, builder_.Get(acc_, visit.chain), value(visit)));
    });
    ExprRef total = builder_.Get(acc_, ir::Int(0));
    for (int64_t j = 1; j < chains; ++j) total = Do(op, total, builder_.Get(acc_, ir::Int(j)));
    if (problem_.inner && lanes_ > 1) total = ir::MakeReduce(op, total);
    builder_.Set(to, ir::Int(0), total);
    group_.Combine(op, to);
    splits_.Share(op, to);
  }

  // A statistic becomes function(statistic, its lanes).
  void Update(ir::BufferId registers, const std::function<ExprRef(ExprRef, int)>& function) {
    const ExprRef value = builder_.Get(registers, ir::Int(0));
    builder_.Set(registers, ir::Int(0), function(value, value->type.lanes));
  }

  void StoreRow(const RowVisit& visit, ExprRef value, ExprRef x) {
    std::map<ValueId, ExprRef> bound = {{problem_.anchor, std::move(value)}};
    if (x && bind_x_) bound[problem_.x] = std::move(x);
    fused_.StoreOutputs(visit.point, bound);
  }

  ExprRef Shifted(const RowVisit& v) { return Do(ScalarOp::kSub, Kept(v), Result(first_)); }

  void Softmax() {
    Accumulate(ScalarOp::kMax, first_, [&](const RowVisit& v) { return Keep(v, Read(v)); });
    Accumulate(ScalarOp::kAdd, second_,
               [&](const RowVisit& v) { return Keep(v, Do(ScalarOp::kExp, Shifted(v))); });
    Update(second_,
           [&](ExprRef sum, int lanes) { return Do(ScalarOp::kDiv, Number(1, lanes), sum); });
    sweep_.ForVectorsInside([&](const RowVisit& v) {
      const ExprRef e = plan_.keep ? Kept(v) : Do(ScalarOp::kExp, Shifted(v));
      StoreRow(v, Do(ScalarOp::kMul, e, Result(second_)), nullptr);
    });
  }

  void LogSoftmax() {
    Accumulate(ScalarOp::kMax, first_, [&](const RowVisit& v) { return Keep(v, Read(v)); });
    Accumulate(ScalarOp::kAdd, second_,
               [&](const RowVisit& v) { return Do(ScalarOp::kExp, Shifted(v)); });
    Update(second_, [&](ExprRef sum, int) { return Do(ScalarOp::kLog, sum); });
    sweep_.ForVectorsInside([&](const RowVisit& v) {
      const ExprRef x = Once(Kept(v));
      const ExprRef shifted = Do(ScalarOp::kSub, x, Result(first_));
      StoreRow(v, Do(ScalarOp::kSub, shifted, Result(second_)), x);
    });
  }

  // Elements that a row reduces.
  double Count() const {
    return static_cast<double>(problem_.Reduced() * (problem_.inner ? problem_.Columns() : 1));
  }

  // Sums of squares of what is left of the mean. A norm of kind rms or l2 has none: its mean counts
  // as zero.
  void Squares(bool centered) {
    if (!centered) {
      Accumulate(ScalarOp::kAdd, second_, [&](const RowVisit& v) {
        const ExprRef x = Once(Keep(v, Read(v)));
        return Do(ScalarOp::kMul, x, x);
      });
      return;
    }
    Accumulate(ScalarOp::kAdd, first_, [&](const RowVisit& v) { return Keep(v, Read(v)); });
    Update(first_,
           [&](ExprRef s, int lanes) { return Do(ScalarOp::kMul, s, Number(1 / Count(), lanes)); });
    Accumulate(ScalarOp::kAdd, second_, [&](const RowVisit& v) {
      const ExprRef d = Once(Shifted(v));
      return Do(ScalarOp::kMul, d, d);
    });
  }

  void LayerNorm() {
    const double count = Count();
    const bool centered = !node_.Has("kind");
    Squares(centered);
    Update(second_, [&](ExprRef s, int lanes) {
      const ExprRef epsilon = Number(node_.Float("epsilon"), lanes);
      if (!centered && node_.Word("kind") == "l2") {
        const ExprRef length = Do(ScalarOp::kMax, Do(ScalarOp::kSqrt, s), epsilon);
        return Do(ScalarOp::kDiv, Number(1, lanes), length);
      }
      const ExprRef variance = Do(ScalarOp::kMul, s, Number(1 / count, lanes));
      const ExprRef shifted = Do(ScalarOp::kAdd, variance, epsilon);
      return Do(ScalarOp::kDiv, Number(1, lanes), Do(ScalarOp::kSqrt, shifted));
    });
    sweep_.ForVectorsInside([&](const RowVisit& v) {
      const ExprRef x = Once(Kept(v));
      const ExprRef left = centered ? Do(ScalarOp::kSub, x, Result(first_)) : x;
      const ExprRef y = Do(ScalarOp::kMul, left, Result(second_));
      StoreRow(v, scale_.Apply(v, y), x);
    });
  }

  void LogSumExp() {
    Accumulate(ScalarOp::kMax, first_, [&](const RowVisit& v) { return Keep(v, Read(v)); });
    Accumulate(ScalarOp::kAdd, second_,
               [&](const RowVisit& v) { return Do(ScalarOp::kExp, Shifted(v)); });
    Update(first_, [&](ExprRef top, int) {
      return Do(ScalarOp::kAdd, top, Do(ScalarOp::kLog, builder_.Get(second_, ir::Int(0))));
    });
    StoreResult();
  }

  void Reduce() {
    const std::string& kind = node_.Word("kind");
    if (kind == "log_sum_exp") return LogSumExp();
    const ScalarOp op = kind == "max"    ? ScalarOp::kMax
                        : kind == "min"  ? ScalarOp::kMin
                        : kind == "prod" ? ScalarOp::kMul
                                         : ScalarOp::kAdd;
    const bool square = kind == "l2" || kind == "sum_square";
    Accumulate(op, first_, [&](const RowVisit& v) {
      const ExprRef x = square ? Once(Read(v)) : Read(v);
      if (kind == "l1") return Do(ScalarOp::kAbs, x);
      return square ? Do(ScalarOp::kMul, x, x) : x;
    });
    splits_.WhereShared([&] {
      if (kind == "mean") {
        Update(first_,
               [&](ExprRef s, int lanes) { return Do(ScalarOp::kDiv, s, Number(Count(), lanes)); });
      }
      if (kind == "l2") Update(first_, [&](ExprRef s, int) { return Do(ScalarOp::kSqrt, s); });
      StoreResult();
    });
  }

  // Results of kReduce live in the space of the kept dimensions.
  void StoreResult() {
    const bool keepdims = node_.Int("keepdims") != 0;
    Point point;
    for (int d = 0; d < static_cast<int>(sweep_.at().size()); ++d) {
      const bool is_column = d == problem_.column;
      const bool kept = is_column ? !problem_.inner
                                  : std::find(problem_.kept.begin(), problem_.kept.end(), d) !=
                                        problem_.kept.end();
      if (!kept && !keepdims) continue;
      if (kept && is_column && lanes_ > 1) {
        point.dim = static_cast<int>(point.at.size());
        point.lanes = lanes_;
      }
      point.at.push_back(kept ? sweep_.at()[static_cast<size_t>(d)] : ir::Int(0));
    }
    builder_.If(sweep_.IsFirst(), [&] {
      fused_.StoreOutputs(point, {{problem_.anchor, builder_.Get(first_, ir::Int(0))}});
    });
  }

  const RowPlan& plan_;
  const RowProblem& problem_;
  const Value& node_;
  const int lanes_;
  const bool bind_x_;
  // A kernel's buffers are numbered as they are declared: by the members from here on, in order.
  ir::KernelBuilder builder_;
  Fused fused_;
  RowGroup group_;
  RowSweep sweep_;
  const ir::BufferId acc_;             // a vector for each chain
  const ir::BufferId first_, second_;  // statistics of the item
  const ir::BufferId now_;             // what Once() holds
  const ir::BufferId row_;             // the thread's vectors of the item, if the plan keeps them
  LayerNormScale scale_;
  RowSplits splits_;
};

}  // namespace

LoweredKernel LowerGpuRows(const Workload& workload, const RowPlan& plan) {
  return RowEmitter(workload, plan).Run();
}

}  // namespace mlc::schedule::gpu
