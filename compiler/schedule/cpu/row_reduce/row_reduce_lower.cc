#include "compiler/schedule/cpu/row_reduce/row_reduce_lower.h"

#include <optional>
#include <string>
#include <utility>

#include "compiler/schedule/cpu/row_reduce/row_walk.h"
#include "compiler/schedule/cpu/shifted_exp.h"

namespace mlc::schedule {

using graph::Op;
using graph::ValueId;
using ir::ExprRef;

namespace {

void Softmax(RowWalk& walk) {
  walk.results.Accumulate(ScalarOp::kMax, walk.results.first(),
                          [&](const Visit& v) { return walk.input.Load(v); });
  const auto power = [&](const Visit& v) {
    return ShiftedExp(walk.input.Reload(v), walk.results.Get(walk.results.first(), v.chain));
  };
  const bool reread = walk.frame.knobs.storage == RowStorage::kNone;
  walk.results.Accumulate(ScalarOp::kAdd, walk.results.second(), [&](const Visit& v) {
    walk.input.Prefetch(v, PrefetchRows::kSecondPass);
    return walk.input.WriteRowBuffer(v, power(v));
  });
  walk.results.Update(walk.results.second(), [&](ExprRef sum) {
    return Do(ScalarOp::kDiv, walk.frame.Number(1), std::move(sum));
  });
  walk.loops.Sweep([&](const Visit& v) {
    walk.input.Prefetch(v, PrefetchRows::kLastPass);
    const ExprRef e = reread ? power(v) : walk.input.ReadRowBuffer(v);
    walk.results.StoreRow(
        v, Do(ScalarOp::kMul, e, walk.results.Get(walk.results.second(), v.chain)), nullptr);
  });
}

// The same as a software pipeline: a row is stored while the next one's exponentials are computed.
void PipelinedSoftmax(RowWalk& walk) {
  const auto store = [&](const Visit& v, const ExprRef& previous) {
    const ExprRef inverse = walk.results.Get(walk.results.second(), v.chain);
    walk.results.StorePreviousRow(v, Do(ScalarOp::kMul, previous, inverse));
  };
  const auto row = [&](bool stores) {
    walk.results.Accumulate(ScalarOp::kMax, walk.results.first(),
                            [&](const Visit& v) { return walk.input.Load(v); });
    walk.results.Accumulate(ScalarOp::kAdd, walk.results.second(), [&](const Visit& v) {
      walk.input.Prefetch(v, PrefetchRows::kSecondPass);
      const ExprRef previous = stores ? walk.input.ReadPipelineBuffer(v) : nullptr;
      const ExprRef top = walk.results.Get(walk.results.first(), v.chain);
      const ExprRef e = walk.input.WritePipelineBuffer(v, ShiftedExp(walk.input.Reload(v), top));
      // Stores that bypass the caches would hold up the loads of x before them.
      if (stores) store(v, previous);
      return e;
    });
    walk.results.Update(walk.results.second(), [&](ExprRef sum) {
      return Do(ScalarOp::kDiv, walk.frame.Number(1), std::move(sum));
    });
  };
  walk.loops.ForEachRowPipelined(
      "p", [&] { row(false); }, [&] { row(true); },
      [&] {
        walk.loops.Sweep([&](const Visit& v) { store(v, walk.input.ReadPipelineBuffer(v)); });
      });
}

void LogSoftmax(RowWalk& walk) {
  walk.results.Accumulate(ScalarOp::kMax, walk.results.first(),
                          [&](const Visit& v) { return walk.input.Load(v); });
  walk.results.Accumulate(ScalarOp::kAdd, walk.results.second(), [&](const Visit& v) {
    walk.input.Prefetch(v, PrefetchRows::kSecondPass);
    return ShiftedExp(walk.input.Reload(v), walk.results.Get(walk.results.first(), v.chain));
  });
  walk.results.Update(walk.results.second(),
                      [&](ExprRef sum) { return Do(ScalarOp::kLog, std::move(sum)); });
  walk.loops.Sweep([&](const Visit& v) {
    walk.input.Prefetch(v, PrefetchRows::kLastPass);
    const ExprRef x = walk.input.Materialize(walk.input.Reload(v));
    const ExprRef shifted = Do(ScalarOp::kSub, x, walk.results.Get(walk.results.first(), v.chain));
    walk.results.StoreRow(
        v, Do(ScalarOp::kSub, shifted, walk.results.Get(walk.results.second(), v.chain)), x);
  });
}

// Scale or bias of the layer norm at a point of x.
ExprRef Parameter(RowWalk& walk, size_t operand, const Point& at) {
  const ValueId id = walk.frame.node.operands[operand];
  const int skip = static_cast<int>(walk.frame.problem.dims.size()) -
                   walk.frame.workload.graph()[id].type.rank();
  Point point = at;
  point.at.erase(point.at.begin(), point.at.begin() + skip);
  point.dim = at.dim - skip;
  if (point.dim < 0) point.lanes = 1;
  ExprRef value = walk.frame.fused.Emit(id, point);
  return value->type.lanes == walk.frame.lanes ? value : ir::MakeBroadcast(value, walk.frame.lanes);
}
bool HasOperand(const RowWalk& walk, size_t operand) {
  const auto& operands = walk.frame.node.operands;
  return operand < operands.size() && operands[operand] != graph::kNoValue;
}

// False for a norm whose mean counts as zero.
bool IsCentered(const RowWalk& walk) { return !walk.frame.node.Has("kind"); }

void SumRow(RowWalk& walk) {
  walk.results.Accumulate(ScalarOp::kAdd, walk.results.first(),
                          [&](const Visit& v) { return walk.input.Load(v); });
}
void MeanOfSum(RowWalk& walk) {
  const double count = walk.frame.Count();
  walk.results.Update(walk.results.first(), [&](ExprRef s) {
    return Do(ScalarOp::kMul, std::move(s), walk.frame.Number(1 / count));
  });
}
void SumSquares(RowWalk& walk) {
  walk.results.Accumulate(ScalarOp::kAdd, walk.results.second(), [&](const Visit& v) {
    if (!IsCentered(walk)) {
      const ExprRef x = walk.input.Materialize(walk.input.Load(v));
      return Do(ScalarOp::kMul, x, x);
    }
    walk.input.Prefetch(v, PrefetchRows::kSecondPass);
    const ExprRef d = walk.input.Materialize(
        Do(ScalarOp::kSub, walk.input.Reload(v), walk.results.Get(walk.results.first(), v.chain)));
    return Do(ScalarOp::kMul, d, d);
  });
}
void FactorOfSquares(RowWalk& walk) {
  const double count = walk.frame.Count();
  walk.results.Update(walk.results.second(), [&](ExprRef s) {
    const ExprRef epsilon = walk.frame.Number(walk.frame.node.Float("epsilon"));
    if (!IsCentered(walk) && walk.frame.node.Word("kind") == "l2") {
      const ExprRef length = Do(ScalarOp::kMax, Do(ScalarOp::kSqrt, std::move(s)), epsilon);
      return Do(ScalarOp::kDiv, walk.frame.Number(1), length);
    }
    const ExprRef variance = Do(ScalarOp::kMul, std::move(s), walk.frame.Number(1 / count));
    const ExprRef shifted = Do(ScalarOp::kAdd, variance, epsilon);
    return Do(ScalarOp::kDiv, walk.frame.Number(1), Do(ScalarOp::kSqrt, shifted));
  });
}
void StoreNormal(RowWalk& walk) {
  walk.loops.Sweep([&](const Visit& v) {
    walk.input.Prefetch(v, PrefetchRows::kLastPass);
    const ExprRef x = walk.input.Materialize(walk.input.Reload(v));
    ExprRef y = x;
    if (IsCentered(walk)) {
      y = Do(ScalarOp::kSub, x, walk.results.Get(walk.results.first(), v.chain));
    }
    y = Do(ScalarOp::kMul, y, walk.results.Get(walk.results.second(), v.chain));
    if (HasOperand(walk, 1) && HasOperand(walk, 2)) {
      y = ir::MakeApply(ScalarOp::kFma,
                        {y, Parameter(walk, 1, v.point), Parameter(walk, 2, v.point)});
    } else if (HasOperand(walk, 1)) {
      y = Do(ScalarOp::kMul, y, Parameter(walk, 1, v.point));
    } else if (HasOperand(walk, 2)) {
      y = Do(ScalarOp::kAdd, y, Parameter(walk, 2, v.point));
    }
    walk.results.StoreRow(v, y, x);
  });
}

void LayerNorm(RowWalk& walk) {
  if (IsCentered(walk)) {
    SumRow(walk);
    MeanOfSum(walk);
  }
  SumSquares(walk);
  FactorOfSquares(walk);
  StoreNormal(walk);
}

// What joins elements, and partial results, in one pass.
ScalarOp Combines(const RowWalk& walk) {
  const std::string& kind = walk.frame.node.Word("kind");
  return kind == "max"    ? ScalarOp::kMax
         : kind == "min"  ? ScalarOp::kMin
         : kind == "prod" ? ScalarOp::kMul
                          : ScalarOp::kAdd;
}

void AccumulateRow(RowWalk& walk) {
  const std::string& kind = walk.frame.node.Word("kind");
  const bool square = kind == "l2" || kind == "sum_square";
  walk.results.Accumulate(Combines(walk), walk.results.first(), [&](const Visit& v) {
    const ExprRef x =
        square ? walk.input.Materialize(walk.input.Compute(v)) : walk.input.Compute(v);
    if (kind == "l1") return Do(ScalarOp::kAbs, x);
    return square ? Do(ScalarOp::kMul, x, x) : x;
  });
}

void FinishReduce(RowWalk& walk) {
  const std::string& kind = walk.frame.node.Word("kind");
  if (kind == "mean") {
    const double count = walk.frame.Count();
    walk.results.Update(walk.results.first(), [&](ExprRef s) {
      return Do(ScalarOp::kDiv, std::move(s), walk.frame.Number(count));
    });
  }
  if (kind == "l2") {
    walk.results.Update(walk.results.first(),
                        [&](ExprRef s) { return Do(ScalarOp::kSqrt, std::move(s)); });
  }
  walk.results.StoreResults();
}

void Reduce(RowWalk& walk) {
  if (walk.frame.node.Word("kind") == "log_sum_exp") {
    walk.results.Accumulate(ScalarOp::kMax, walk.results.first(),
                            [&](const Visit& v) { return walk.input.Load(v); });
    walk.results.Accumulate(ScalarOp::kAdd, walk.results.second(), [&](const Visit& v) {
      return ShiftedExp(walk.input.Reload(v), walk.results.Get(walk.results.first(), v.chain));
    });
    for (int j = 0; j < walk.results.Count(); ++j) {
      const ExprRef log =
          Do(ScalarOp::kLog, walk.frame.builder.Get(walk.results.second(), ir::Int(j)));
      walk.frame.builder.Set(
          walk.results.first(), ir::Int(j),
          Do(ScalarOp::kAdd, walk.frame.builder.Get(walk.results.first(), ir::Int(j)), log));
    }
  } else {
    AccumulateRow(walk);
  }
  FinishReduce(walk);
}

void Row(RowWalk& walk) {
  switch (walk.frame.node.op) {
    case Op::kSoftmax:
      return Softmax(walk);
    case Op::kLogSoftmax:
      return LogSoftmax(walk);
    case Op::kLayerNorm:
      return LayerNorm(walk);
    default:
      return Reduce(walk);
  }
}

// What the parts of rows come to, in memory that all threads share.
class Partials {
 public:
  Partials(RowWalk& walk, const std::string& name, ScalarOp op)
      : walk_(walk),
        op_(op),
        parts_(walk.frame.knobs.parts),
        buffer_(walk.frame.builder.Workspace(
            name, walk.frame.problem.dtype,
            walk.frame.problem.Rows() * walk.frame.Blocks() * parts_ * walk.frame.Width())) {}

  void Put(ir::BufferId registers, const ExprRef& place, const ExprRef& part) {
    ir::KernelBuilder& b = walk_.frame.builder;
    for (int j = 0; j < walk_.results.Count(); ++j) {
      b.Store(buffer_, Slot(place, part, j), b.Get(registers, ir::Int(j)));
    }
  }
  // All parts of a row together.
  void Join(ir::BufferId registers, const ExprRef& place) {
    ir::KernelBuilder& b = walk_.frame.builder;
    for (int j = 0; j < walk_.results.Count(); ++j)
      b.Set(registers, ir::Int(j), walk_.frame.Neutral(op_));
    b.For("part", parts_, [&](const ExprRef& part) {
      for (int j = 0; j < walk_.results.Count(); ++j) {
        const ExprRef loaded = b.Load(buffer_, Slot(place, part, j), walk_.frame.lanes);
        b.Set(registers, ir::Int(j), Do(op_, b.Get(registers, ir::Int(j)), loaded));
      }
    });
  }

 private:
  ExprRef Slot(const ExprRef& place, const ExprRef& part, int j) const {
    return (place * parts_ + part) * walk_.frame.Width() + int64_t{j} * walk_.frame.lanes;
  }

  RowWalk& walk_;
  const ScalarOp op_;
  const int64_t parts_;
  const ir::BufferId buffer_;
};

// Two phases: every part of every row, then the parts of each row together.
void ReduceInParts(RowWalk& walk) {
  Partials partials(walk, "partial", Combines(walk));
  walk.loops.ForEachRow("p", walk.frame.knobs.parts,
                        [&](const ExprRef& place, const ExprRef& part) {
                          AccumulateRow(walk);
                          partials.Put(walk.results.first(), place, part);
                        });
  walk.loops.ForEachRow("q", 1, [&](const ExprRef& place, const ExprRef&) {
    partials.Join(walk.results.first(), place);
    FinishReduce(walk);
  });
}

// Three phases: sums, sums of squares of what is left of the mean, results. The first is left out
// where the mean counts as zero.
void NormInParts(RowWalk& walk) {
  const int64_t parts = walk.frame.knobs.parts;
  std::optional<Partials> sums;
  if (IsCentered(walk)) sums.emplace(walk, "sums", ScalarOp::kAdd);
  Partials squares(walk, "squares", ScalarOp::kAdd);
  if (sums) {
    walk.loops.ForEachRow("p", parts, [&](const ExprRef& place, const ExprRef& part) {
      SumRow(walk);
      sums->Put(walk.results.first(), place, part);
    });
  }
  const auto join_mean = [&](const ExprRef& place) {
    if (!sums) return;
    sums->Join(walk.results.first(), place);
    MeanOfSum(walk);
  };
  walk.loops.ForEachRow("q", parts, [&](const ExprRef& place, const ExprRef& part) {
    join_mean(place);
    SumSquares(walk);
    squares.Put(walk.results.second(), place, part);
  });
  walk.loops.ForEachRow("s", parts, [&](const ExprRef& place, const ExprRef&) {
    join_mean(place);
    squares.Join(walk.results.second(), place);
    FactorOfSquares(walk);
    StoreNormal(walk);
  });
}

}  // namespace

bool CutsColumns(const RowProblem& problem, int64_t chains) {
  return problem.inner && problem.Columns() / (chains * problem.lanes) >= problem.Reduced();
}

int64_t CutUnits(const RowProblem& problem, int64_t chains) {
  return CutsColumns(problem, chains) ? problem.Columns() / (chains * problem.lanes)
                                      : problem.Reduced();
}

LoweredKernel LowerRows(const graph::Workload& workload, const target::Target& target,
                        const RowProblem& problem, const RowKnobs& knobs) {
  RowWalk walk(workload, target, problem, knobs);
  if (knobs.storage == RowStorage::kPipelined) {
    PipelinedSoftmax(walk);
  } else if (knobs.parts == 1) {
    walk.loops.ForEachRow("p", 1, [&](const ExprRef&, const ExprRef&) { Row(walk); });
  } else if (walk.frame.node.op == Op::kLayerNorm) {
    NormInParts(walk);
  } else {
    ReduceInParts(walk);
  }
  return {walk.frame.builder.Finish(), walk.frame.fused.bindings(), {}};
}

}  // namespace mlc::schedule
