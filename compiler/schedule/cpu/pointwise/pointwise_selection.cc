#include "compiler/schedule/cpu/pointwise/pointwise_selection.h"

#include <algorithm>
#include <array>
#include <limits>

#include "compiler/schedule/fusion/fused.h"

namespace mlc::schedule {

using graph::Op;
using graph::Value;
using graph::ValueId;
using graph::Workload;
using ir::BufferId;
using ir::ExprRef;

namespace {

Point At(std::vector<ExprRef> at) { return Point{std::move(at), -1, 1, nullptr}; }

ExprRef Apply(ScalarOp op, ExprRef a, ExprRef b) {
  return ir::MakeApply(op, {std::move(a), std::move(b)});
}

ExprRef F32(double value) { return ir::Float(DType::kF32, value); }
ExprRef Lowest() { return F32(-std::numeric_limits<double>::infinity()); }
ExprRef Zero() { return ir::Int(0); }

// One thread walks the elements: each place depends on how many came before.
void EmitNonZero(ir::KernelBuilder& builder, Fused& fused, const Workload& workload,
                 const Value& node) {
  const ValueId x = node.operands[0];
  const BufferId count = builder.Registers("count", DType::kI64, 1, 1);
  builder.Parallel("one", 1, [&](const ExprRef&) {
    builder.Set(count, Zero(), Zero());
    builder.For("i", workload.graph()[x].type.dims[0], [&](const ExprRef& i) {
      builder.If(fused.Emit(x, At({i})), [&] {
        const ExprRef at = builder.Let("at", builder.Get(count, Zero()));
        fused.Store(0, At({at}), i);
        builder.Set(count, Zero(), at + 1);
      });
    });
    const ExprRef end = builder.Let("end", builder.Get(count, Zero()));
    builder.For("i", end, ir::Int(node.type.dims[0]), 1,
                [&](const ExprRef& i) { fused.Store(0, At({i}), Zero()); });
  });
}

// A thread keeps some numbers of each box.
constexpr int64_t kMostBoxes = int64_t{1} << 20;

int64_t BoxCount(const Workload& workload, const Value& node) {
  return workload.graph()[node.operands[1]].type.dims[2];
}

// A thread takes a class of a batch entry. It keeps the boxes whose score is high enough, takes the
// best one of them, drops those that overlap it, and so on.
class Suppression {
 public:
  Suppression(ir::KernelBuilder& builder, Fused& fused, const Workload& workload, ValueId id)
      : builder_(builder), fused_(fused), node_(workload.graph()[id]) {
    boxes_ = BoxCount(workload, node_);
    count_ = builder.Registers("count", DType::kI64, 1, 1);
    best_ = builder.Registers("best", DType::kF32, 1, 1);
    best_at_ = builder.Registers("best_at", DType::kI64, 1, 1);
    own_ = builder.Registers("own", DType::kF32, 1, kParts);
    place_ = builder.Thread("place", DType::kI64, std::max<int64_t>(boxes_, 1));
    score_ = builder.Thread("score", DType::kF32, std::max<int64_t>(boxes_, 1));
    constexpr std::array<const char*, kParts> kNames = {"low0", "low1", "high0", "high1", "area"};
    for (const char* name : kNames) {
      parts_.push_back(builder.Thread(name, DType::kF32, std::max<int64_t>(boxes_, 1)));
    }
  }

  void Emit() {
    const int64_t classes = node_.type.dims[1];
    builder_.Parallel("row", node_.type.dims[0] * classes, [&](const ExprRef& row) {
      batch_ = ir::FloorDiv(row, classes);
      class_ = ir::Mod(row, classes);
      KeepCandidates();
      const ExprRef kept = builder_.Let("kept", builder_.Get(count_, Zero()));
      StartSearch();
      builder_.For("i", Zero(), kept, 1, [&](const ExprRef& i) { Compare(i, Load(score_, i)); });
      const ExprRef room = ir::Int(node_.type.dims[2]);
      const ExprRef given = builder_.Let("given", fused_.Emit(node_.operands[2], At({Zero()})));
      const ExprRef most = builder_.Let("most", ir::Min(ir::Max(given, Zero()), room));
      builder_.For("m", Zero(), most, 1, [&](const ExprRef& m) {
        builder_.If(
            Apply(ScalarOp::kLess, Lowest(), builder_.Get(best_, Zero())), [&] { Take(m, kept); },
            [&] { StoreResult(m, ir::Int(-1)); });
      });
      builder_.For("m", most, room, 1, [&](const ExprRef& m) { StoreResult(m, ir::Int(-1)); });
    });
  }

 private:
  static constexpr int kParts = 5;  // two low corners, two high ones, the area

  ExprRef Load(BufferId buffer, const ExprRef& at) { return builder_.Load(buffer, at); }
  ExprRef Own(int part) { return builder_.Get(own_, ir::Int(part)); }

  void StoreResult(const ExprRef& m, const ExprRef& value) {
    fused_.Store(0, At({batch_, class_, m}), value);
  }

  ExprRef Number(int operand, std::vector<ExprRef> at) {
    const ExprRef value =
        fused_.Emit(node_.operands[static_cast<size_t>(operand)], At(std::move(at)));
    return value->type.dtype == DType::kF32 ? value : ir::MakeCast(DType::kF32, value);
  }

  void KeepCandidates() {
    builder_.Set(count_, Zero(), Zero());
    builder_.For("i", boxes_, [&](const ExprRef& i) {
      const ExprRef score = Number(1, {batch_, class_, i});
      builder_.If(Apply(ScalarOp::kLess, Number(4, {Zero()}), score), [&] {
        const ExprRef at = builder_.Let("at", builder_.Get(count_, Zero()));
        builder_.Store(place_, at, i);
        builder_.Store(score_, at, Number(1, {batch_, class_, i}));
        StoreCorners(at, i);
        builder_.Set(count_, Zero(), at + 1);
      });
    });
  }

  void StoreCorners(const ExprRef& at, const ExprRef& i) {
    for (int d = 0; d < 2; ++d) {
      const ExprRef a = Number(0, {batch_, i, ir::Int(d)});
      ExprRef b = Number(0, {batch_, i, ir::Int(d + 2)});
      ExprRef low, high;
      if (node_.Int("center") != 0) {
        b = Apply(ScalarOp::kMul, b, F32(0.5));
        low = Apply(ScalarOp::kSub, a, b);
        high = Apply(ScalarOp::kAdd, a, b);
      } else {
        low = Apply(ScalarOp::kMin, a, b);
        high = Apply(ScalarOp::kMax, a, b);
      }
      builder_.Store(parts_[static_cast<size_t>(d)], at, low);
      builder_.Store(parts_[static_cast<size_t>(d + 2)], at, high);
    }
    builder_.Store(parts_[4], at, Apply(ScalarOp::kMul, Side(at, 0), Side(at, 1)));
  }

  ExprRef Side(const ExprRef& at, size_t d) {
    return Apply(ScalarOp::kSub, Load(parts_[d + 2], at), Load(parts_[d], at));
  }

  void StartSearch() {
    builder_.Set(best_, Zero(), Lowest());
    builder_.Set(best_at_, Zero(), Zero());
  }

  // The first one of equal scores stays the best.
  void Compare(const ExprRef& i, const ExprRef& score) {
    const ExprRef better = Apply(ScalarOp::kLess, builder_.Get(best_, Zero()), score);
    builder_.Set(best_at_, Zero(),
                 ir::MakeApply(ScalarOp::kSelect, {better, i, builder_.Get(best_at_, Zero())}));
    builder_.Set(best_, Zero(), Apply(ScalarOp::kMax, builder_.Get(best_, Zero()), score));
  }

  // How much of both the box has in common with the taken one along an axis.
  ExprRef SharedSide(const ExprRef& i, int d) {
    const ExprRef end =
        Apply(ScalarOp::kMin, Own(d + 2), Load(parts_[static_cast<size_t>(d + 2)], i));
    const ExprRef begin = Apply(ScalarOp::kMax, Own(d), Load(parts_[static_cast<size_t>(d)], i));
    return Apply(ScalarOp::kMax, F32(0), Apply(ScalarOp::kSub, end, begin));
  }

  ExprRef IsAbove(const ExprRef& value, const ExprRef& bound) {
    return Apply(ScalarOp::kLess, bound, value);
  }

  ExprRef Overlaps(const ExprRef& i) {
    const BufferId shared = shared_;
    builder_.Set(shared, Zero(), Apply(ScalarOp::kMul, SharedSide(i, 0), SharedSide(i, 1)));
    const ExprRef area = Load(parts_[4], i);
    builder_.Set(
        shared, ir::Int(1),
        Apply(ScalarOp::kSub, Apply(ScalarOp::kAdd, Own(4), area), builder_.Get(shared, Zero())));
    const ExprRef common = builder_.Get(shared, Zero()), joined = builder_.Get(shared, ir::Int(1));
    ExprRef all = IsAbove(Apply(ScalarOp::kDiv, common, joined), Number(3, {Zero()}));
    for (const ExprRef& value : {common, joined, area, Own(4)}) {
      all = Apply(ScalarOp::kAnd, all, IsAbove(value, F32(0)));
    }
    return all;
  }

  // The best candidate is result m. Those that overlap it are out, and the next one is found.
  void Take(const ExprRef& m, const ExprRef& kept) {
    const ExprRef at = builder_.Let("taken", builder_.Get(best_at_, Zero()));
    StoreResult(m, Load(place_, at));
    for (int part = 0; part < kParts; ++part) {
      builder_.Set(own_, ir::Int(part), Load(parts_[static_cast<size_t>(part)], at));
    }
    builder_.Store(score_, at, Lowest());
    StartSearch();
    builder_.For("i", Zero(), kept, 1, [&](const ExprRef& i) {
      const ExprRef left =
          ir::MakeApply(ScalarOp::kSelect, {Overlaps(i), Lowest(), Load(score_, i)});
      builder_.Store(score_, i, left);
      Compare(i, Load(score_, i));
    });
  }

  ir::KernelBuilder& builder_;
  Fused& fused_;
  const Value& node_;
  int64_t boxes_ = 0;
  BufferId count_, best_, best_at_, own_, place_, score_;
  BufferId shared_ = builder_.Registers("common", DType::kF32, 1, 2);
  std::vector<BufferId> parts_;
  ExprRef batch_, class_;
};

}  // namespace

bool IsSelection(Op op) { return op == Op::kNonZero || op == Op::kSuppress; }

ValueId FindSelection(const Workload& workload) {
  const graph::Graph& graph = workload.graph();
  if (workload.outputs().size() != 1) return graph::kNoValue;
  const ValueId selection = workload.outputs()[0];
  const Value& node = graph[selection];
  if (!IsSelection(node.op)) return graph::kNoValue;
  if (node.op == Op::kSuppress && BoxCount(workload, node) > kMostBoxes) return graph::kNoValue;
  const std::vector<ValueId>& operands = node.operands;
  const bool covered = std::ranges::all_of(
      operands, [&](ValueId operand) { return Fused::Covers(workload, operand, {}); });
  return covered ? selection : graph::kNoValue;
}

LoweredKernel LowerSelection(const Workload& workload, ValueId selection) {
  ir::KernelBuilder builder("selection");
  Fused fused(workload, builder);
  const Value& node = workload.graph()[selection];
  if (node.op == Op::kNonZero) {
    EmitNonZero(builder, fused, workload, node);
  } else {
    Suppression(builder, fused, workload, selection).Emit();
  }
  return {builder.Finish(), fused.bindings(), {}};
}

}  // namespace mlc::schedule
