#include <algorithm>
#include <functional>
#include <limits>

#include "compiler/schedule/cuda/attention_fragments.h"
#include "compiler/schedule/cuda/attention_plan.h"
#include "compiler/schedule/cuda/attention_stage.h"
#include "compiler/schedule/cuda/gpu_launch.h"
#include "compiler/schedule/fused.h"

namespace mlc::schedule::gpu {

using graph::Value;
using graph::ValueId;
using graph::Workload;
using ir::ExprRef;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

ExprRef F32(double value, int lanes = 1) { return ir::Float(DType::kF32, value, lanes); }

class AttentionEmitter {
 public:
  AttentionEmitter(const Workload& workload, const AttentionPlan& plan)
      : workload_(workload),
        plan_(plan),
        p_(plan.problem),
        node_(workload.graph()[p_.anchor]),
        builder_("attention"),
        fused_(workload, builder_),
        q_(builder_.BlockMemory("q_rows", plan.data, plan.rows() * plan.pitch(plan.depth()))),
        k_(builder_.BlockMemory("k_rows", plan.data,
                                plan.stages * plan.chunk * plan.pitch(plan.depth()))),
        v_(builder_.BlockMemory("v_rows", plan.data,
                                plan.stages * plan.chunk * plan.pitch(plan.slice()))),
        fragments_(builder_, plan, q_, k_, v_),
        stage_q_(workload, builder_, fused_, node_.operands[0], plan),
        stage_k_(workload, builder_, fused_, node_.operands[1], plan),
        stage_v_(workload, builder_, fused_, node_.operands[2], plan) {
    if (AllNarrow(workload)) builder_.Approximate();
    top_ = builder_.Registers("top", DType::kF32, 1, 2);
    sum_ = builder_.Registers("sum", DType::kF32, 1, 2);
    next_ = builder_.Registers("next", DType::kF32, 1, 2);
    factor_ = builder_.Registers("factor", DType::kF32, 1, 2);
    spread_ = builder_.Registers("spread", DType::kF32, 4, 1);
    scale_ = builder_.Registers("scale", DType::kF32, 4, 1);
    if (plan.key_warps > 1) {
      const int64_t rows = int64_t{plan.warps} * kQueryRows;
      parts_ = builder_.BlockMemory("parts", DType::kF32, rows * plan.slice());
      stats_ = builder_.BlockMemory("stats", DType::kF32, rows * 2);
    }
  }

  LoweredKernel Run() {
    builder_.Launch(plan_.blocks(), plan_.threads(), 1,
                    [&](const ExprRef& block, const ExprRef& thread) {
                      BeginLaunch(builder_);
                      Locate(block, thread);
                      builder_.Unrolled("e", fragments_.output_tiles(), [&](const ExprRef& e) {
                        builder_.Set(fragments_.output(), e, F32(0, 4));
                      });
                      for (int h = 0; h < 2; ++h) {
                        builder_.Set(top_, ir::Int(h), F32(-kInfinity));
                        builder_.Set(sum_, ir::Int(h), F32(0));
                      }
                      Chunks();
                      Finish();
                    });
    return {builder_.Finish(), fused_.bindings(), {}};
  }

 private:
  void Locate(const ExprRef& block, const ExprRef& thread) {
    thread_ = thread;
    const int64_t tiles = CeilDiv(p_.queries, plan_.rows());
    const ExprRef part = builder_.Let("part", ir::Mod(block, plan_.slices()));
    first_column_ = plan_.slices() == 1 ? ir::Int(0) : part * plan_.slice();
    const ExprRef rest = builder_.Let("rest", ir::FloorDiv(block, plan_.slices()));
    first_row_ = builder_.Let("q0", ir::Mod(rest, tiles) * plan_.rows());
    const ExprRef head = builder_.Let("bh", ir::FloorDiv(rest, tiles));
    batch_ = builder_.Let("b", ir::FloorDiv(head, p_.heads));
    head_ = builder_.Let("h", ir::Mod(head, p_.heads));
    const ExprRef warp = builder_.Let("warp", ir::FloorDiv(thread, 32));
    warp_ = warp;
    key_warp_ = builder_.Let("kw", ir::Mod(warp, int64_t{plan_.key_warps}));
    warp_row_ = builder_.Let("wr", ir::FloorDiv(warp, int64_t{plan_.key_warps}) * kQueryRows);
    fragments_.Begin(builder_.Let("lane", ir::Mod(thread, 32)), warp_row_);
    row_ = builder_.Let("row", first_row_ + warp_row_ + fragments_.group());
  }

  void CopyQueries() {
    stage_q_.Copy(
        q_, ir::Int(0), plan_.pitch(plan_.depth()),
        {batch_, head_, first_row_, plan_.rows(), p_.queries, ir::Int(0), plan_.depth(), p_.depth},
        thread_);
  }
  ExprRef BaseOf(const ExprRef& chunk, int64_t pitch) {
    if (plan_.stages == 1) return ir::Int(0);
    return builder_.Let("base", ir::Mod(chunk, int64_t{plan_.stages}) * (plan_.chunk * pitch));
  }
  void CopyKeys(const ExprRef& chunk) {
    const int64_t pitch = plan_.pitch(plan_.depth());
    stage_k_.Copy(k_, BaseOf(chunk, pitch), pitch,
                  {batch_, head_, chunk * plan_.chunk, plan_.chunk, p_.keys, ir::Int(0),
                   plan_.depth(), p_.depth},
                  thread_);
  }
  void CopyValues(const ExprRef& chunk) {
    const int64_t pitch = plan_.pitch(plan_.slice());
    stage_v_.Copy(v_, BaseOf(chunk, pitch), pitch,
                  {batch_, head_, chunk * plan_.chunk, plan_.chunk, p_.keys, first_column_,
                   plan_.slice(), p_.width},
                  thread_);
  }
  void Wait(int pending) {
    builder_.WaitCopies(pending);
    builder_.Barrier();
  }

  void Chunks() {
    const int64_t chunks = plan_.chunks();
    CopyQueries();
    if (chunks == 1) {
      // Scores need no values yet.
      CopyKeys(ir::Int(0));
      builder_.CommitCopies();
      CopyValues(ir::Int(0));
      builder_.CommitCopies();
      Wait(1);
      fragments_.LoadQueries();
      return Steps(ir::Int(0), true);
    }
    builder_.CommitCopies();
    const auto copy = [&](const ExprRef& chunk) {
      CopyKeys(chunk);
      CopyValues(chunk);
    };
    if (plan_.stages == 1) {
      Wait(0);
      fragments_.LoadQueries();
      builder_.For("chunk", chunks, [&](const ExprRef& chunk) {
        copy(chunk);
        builder_.CommitCopies();
        Wait(0);
        Steps(chunk, false);
        builder_.Barrier();
      });
      return;
    }
    copy(ir::Int(0));
    builder_.CommitCopies();
    Wait(1);
    fragments_.LoadQueries();
    builder_.For("chunk", chunks, [&](const ExprRef& chunk) {
      builder_.If(Less(chunk, ir::Int(chunks - 1)),
                  [&] { copy(builder_.Let("ahead", chunk + 1)); });
      builder_.CommitCopies();
      Wait(1);
      Steps(chunk, false);
      builder_.Barrier();
    });
  }

  // The warp's blocks of keys of a chunk.
  void Steps(const ExprRef& chunk, bool wait_for_values) {
    const int64_t step = int64_t{plan_.key_block} * plan_.key_warps;
    const ExprRef keys_base = BaseOf(chunk, plan_.pitch(plan_.depth()));
    const ExprRef values_base = BaseOf(chunk, plan_.pitch(plan_.slice()));
    builder_.For("j", plan_.chunk / step, [&](const ExprRef& j) {
      const ExprRef key = builder_.Let("key", j * step + key_warp_ * int64_t{plan_.key_block});
      fragments_.Scores(builder_.Let("ks", keys_base + key * plan_.pitch(plan_.depth())));
      FinishScores(builder_.Let("first_key", chunk * plan_.chunk + key));
      Softmax();
      if (wait_for_values) {
        int64_t only = 0;
        if (ir::IsConstInt(j, &only)) {
          Wait(0);
        } else {
          builder_.If(Less(j, ir::Int(1)), [&] { Wait(0); });
        }
      }
      fragments_.Output(builder_.Let("vs", values_base + key * plan_.pitch(plan_.slice())));
    });
  }

  // Scale, mask, and minus infinity past the last key.
  void FinishScores(const ExprRef& first_key) {
    const bool tail = p_.keys % plan_.chunk != 0;
    for (int64_t n = 0; n < fragments_.score_tiles(); ++n) {
      const ExprRef at = ir::Int(n);
      ExprRef s = Do(ScalarOp::kMul, builder_.Get(fragments_.scores(), at), F32(p_.scale, 4));
      const ExprRef key =
          tail || p_.masked ? builder_.Let("key", first_key + fragments_.pair() + n * 8) : nullptr;
      if (p_.masked) {
        LoadMask(key, tail);
        s = Do(ScalarOp::kAdd, s, builder_.Load(fragments_.fold(), ir::Int(0), 4));
      }
      builder_.Set(fragments_.scores(), at, s);
      if (!tail) continue;
      builder_.If(Less(ir::Int(p_.keys), key + 2), [&] { DropPast(at, key); });
    }
  }

  void DropPast(const ExprRef& at, const ExprRef& key) {
    const ir::BufferId fold = fragments_.fold();
    builder_.Store(fold, ir::Int(0), builder_.Get(fragments_.scores(), at));
    for (int lane = 0; lane < 4; ++lane) {
      builder_.If(Do(ScalarOp::kLessEqual, ir::Int(p_.keys), key + lane % 2),
                  [&] { builder_.Store(fold, ir::Int(lane), F32(-kInfinity)); });
    }
    builder_.Set(fragments_.scores(), at, builder_.Load(fold, ir::Int(0), 4));
  }

  // The mask of the tile's four scores, into fold. Past the end any element will do.
  void LoadMask(const ExprRef& key, bool tail) {
    const ValueId mask = node_.operands[3];
    const graph::TensorType& type = workload_.graph()[mask].type;
    const int rank = type.rank();
    const bool pairs =
        rank > 0 && type.dims.back() % 2 == 0 && Fused::Vectorises(workload_, mask, rank - 1, 2);
    const bool rows_end = p_.queries % plan_.rows() != 0;
    for (int half = 0; half < 2; ++half) {
      const ExprRef row = row_ + 8 * half;
      const ExprRef q = rows_end ? builder_.Let("mq", ir::Min(row, ir::Int(p_.queries - 1))) : row;
      for (int lane = 0; lane < (pairs ? 1 : 2); ++lane) {
        const int64_t last = p_.keys - (pairs ? 2 : 1);
        const ExprRef k =
            tail ? builder_.Let("mk", ir::Min(key + lane, ir::Int(last))) : key + lane;
        const std::vector<ExprRef> all = {batch_, head_, q, k};
        Point point;
        point.at.assign(all.end() - rank, all.end());
        if (pairs) {
          point.dim = rank - 1;
          point.lanes = 2;
        }
        builder_.Store(fragments_.fold(), ir::Int(half * 2 + lane), fused_.Emit(mask, point));
      }
    }
  }

  // next_[h] = op over the row's columns of `values` in this thread.
  void FoldRows(ScalarOp op, ExprRef values) {
    const ir::BufferId fold = fragments_.fold();
    builder_.Store(fold, ir::Int(0), std::move(values));
    for (int h = 0; h < 2; ++h) {
      builder_.Set(
          next_, ir::Int(h),
          Do(op, builder_.Load(fold, ir::Int(2 * h)), builder_.Load(fold, ir::Int(2 * h + 1))));
    }
  }
  // next_[h] over the four threads of a row.
  void ShareRows(ScalarOp op, ir::BufferId values) {
    for (int mask = 1; mask <= 2; ++mask) {
      for (int h = 0; h < 2; ++h) {
        const ExprRef mine = builder_.Get(values, ir::Int(h));
        builder_.Set(values, ir::Int(h), Do(op, mine, ir::MakeShuffleXor(mine, mask)));
      }
    }
  }
  // A value per row as the lanes of a fragment.
  ExprRef Spread(ir::BufferId to, ir::BufferId values) {
    const ir::BufferId fold = fragments_.fold();
    for (int lane = 0; lane < 4; ++lane) {
      builder_.Store(fold, ir::Int(lane), builder_.Get(values, ir::Int(lane / 2)));
    }
    builder_.Set(to, ir::Int(0), builder_.Load(fold, ir::Int(0), 4));
    return builder_.Get(to, ir::Int(0));
  }
  // The value to subtract for a maximum: rows that are masked so far have none.
  static ExprRef Finite(const ExprRef& top) {
    return ir::MakeApply(ScalarOp::kSelect,
                         {Do(ScalarOp::kEqual, top, F32(-kInfinity)), F32(0), top});
  }

  void ScaleOutput(const ExprRef& by) {
    builder_.Unrolled("e", fragments_.output_tiles(), [&](const ExprRef& e) {
      builder_.Set(fragments_.output(), e,
                   Do(ScalarOp::kMul, builder_.Get(fragments_.output(), e), by));
    });
  }

  // Scores become weights relative to the running maximum; sum and output follow it.
  void Softmax() {
    const ir::BufferId s = fragments_.scores();
    ExprRef top = builder_.Get(s, ir::Int(0));
    for (int64_t n = 1; n < fragments_.score_tiles(); ++n) {
      builder_.Set(spread_, ir::Int(0), Do(ScalarOp::kMax, top, builder_.Get(s, ir::Int(n))));
      top = builder_.Get(spread_, ir::Int(0));
    }
    FoldRows(ScalarOp::kMax, top);
    ShareRows(ScalarOp::kMax, next_);
    const bool once = plan_.chunks() == 1 && plan_.chunk == plan_.key_block * plan_.key_warps;
    for (int h = 0; h < 2; ++h) {
      const ExprRef at = ir::Int(h);
      const ExprRef old = builder_.Get(top_, at);
      builder_.Set(next_, at, Do(ScalarOp::kMax, old, builder_.Get(next_, at)));
      const ExprRef now = Finite(builder_.Get(next_, at));
      if (!once) builder_.Set(factor_, at, Do(ScalarOp::kExp, Do(ScalarOp::kSub, old, now)));
      builder_.Set(top_, at, builder_.Get(next_, at));
      builder_.Set(next_, at, Finite(builder_.Get(top_, at)));
    }
    const ExprRef shift = Spread(spread_, next_);
    for (int64_t n = 0; n < fragments_.score_tiles(); ++n) {
      const ExprRef at = ir::Int(n);
      builder_.Set(s, at, Do(ScalarOp::kExp, Do(ScalarOp::kSub, builder_.Get(s, at), shift)));
    }
    ExprRef total = builder_.Get(s, ir::Int(0));
    for (int64_t n = 1; n < fragments_.score_tiles(); ++n) {
      builder_.Set(scale_, ir::Int(0), Do(ScalarOp::kAdd, total, builder_.Get(s, ir::Int(n))));
      total = builder_.Get(scale_, ir::Int(0));
    }
    FoldRows(ScalarOp::kAdd, total);
    for (int h = 0; h < 2; ++h) {
      const ExprRef at = ir::Int(h);
      const ExprRef part = builder_.Get(next_, at);
      builder_.Set(sum_, at,
                   once ? part
                        : ir::MakeApply(ScalarOp::kFma,
                                        {builder_.Get(sum_, at), builder_.Get(factor_, at), part}));
    }
    if (!once) ScaleOutput(Spread(scale_, factor_));
  }

  void Finish() {
    ShareRows(ScalarOp::kAdd, sum_);
    if (plan_.key_warps > 1) return Merge();
    for (int h = 0; h < 2; ++h) {
      builder_.Set(factor_, ir::Int(h), Do(ScalarOp::kDiv, F32(1), builder_.Get(sum_, ir::Int(h))));
    }
    ScaleOutput(Spread(scale_, factor_));
    const ir::BufferId fold = fragments_.fold();
    for (int64_t e = 0; e < fragments_.output_tiles(); ++e) {
      builder_.Store(fold, ir::Int(0), builder_.Get(fragments_.output(), ir::Int(e)));
      for (int h = 0; h < 2; ++h) {
        const ir::BufferId pair = builder_.Registers("pair", DType::kF32, 2, 1);
        builder_.Set(pair, ir::Int(0), builder_.Load(fold, ir::Int(2 * h), 2));
        StorePair(row_ + 8 * h, first_column_ + fragments_.pair() + e * 8, pair);
      }
    }
  }

  // Warps with the same queries: their parts on a common maximum, then added.
  void Merge() {
    const int64_t width = plan_.slice();
    const ExprRef mine = builder_.Let("mine", warp_ * kQueryRows + fragments_.group());
    builder_.If(Do(ScalarOp::kEqual, fragments_.pair(), ir::Int(0)), [&] {
      for (int h = 0; h < 2; ++h) {
        const ExprRef at = (mine + 8 * h) * 2;
        builder_.Store(stats_, at, builder_.Get(top_, ir::Int(h)));
        builder_.Store(stats_, at + 1, builder_.Get(sum_, ir::Int(h)));
      }
    });
    builder_.Barrier();
    const ExprRef first =
        builder_.Let("first", (warp_ - key_warp_) * kQueryRows + fragments_.group());
    const auto stat = [&](int64_t warp, int h, int which) {
      return builder_.Load(stats_, (first + (warp * kQueryRows + 8 * h)) * 2 + which);
    };
    for (int h = 0; h < 2; ++h) {
      const ExprRef at = ir::Int(h);
      builder_.Set(next_, at, stat(0, h, 0));
      for (int64_t w = 1; w < plan_.key_warps; ++w) {
        builder_.Set(next_, at, Do(ScalarOp::kMax, builder_.Get(next_, at), stat(w, h, 0)));
      }
      builder_.Set(next_, at, Finite(builder_.Get(next_, at)));
      builder_.Set(sum_, at, F32(0));
      for (int64_t w = 0; w < plan_.key_warps; ++w) {
        const ExprRef weight =
            Do(ScalarOp::kExp, Do(ScalarOp::kSub, stat(w, h, 0), builder_.Get(next_, at)));
        builder_.Set(
            sum_, at,
            ir::MakeApply(ScalarOp::kFma, {weight, stat(w, h, 1), builder_.Get(sum_, at)}));
      }
      const ExprRef own =
          Do(ScalarOp::kExp, Do(ScalarOp::kSub, builder_.Get(top_, at), builder_.Get(next_, at)));
      builder_.Set(factor_, at, Do(ScalarOp::kDiv, own, builder_.Get(sum_, at)));
    }
    ScaleOutput(Spread(scale_, factor_));
    const ir::BufferId fold = fragments_.fold();
    for (int64_t e = 0; e < fragments_.output_tiles(); ++e) {
      builder_.Store(fold, ir::Int(0), builder_.Get(fragments_.output(), ir::Int(e)));
      for (int h = 0; h < 2; ++h) {
        builder_.Store(parts_, (mine + 8 * h) * width + fragments_.pair() + e * 8,
                       builder_.Load(fold, ir::Int(2 * h), 2));
      }
    }
    builder_.Barrier();
    AddParts(first);
  }

  void AddParts(const ExprRef& first) {
    const int64_t width = plan_.slice();
    const ir::BufferId pair = builder_.Registers("pair", DType::kF32, 2, 1);
    const int64_t tiles = fragments_.output_tiles();
    builder_.Unrolled("i", CeilDiv(tiles, plan_.key_warps), [&](const ExprRef& i) {
      const ExprRef tile = builder_.Let("tile", i * int64_t{plan_.key_warps} + key_warp_);
      const auto add = [&] {
        for (int h = 0; h < 2; ++h) {
          const ExprRef column = fragments_.pair() + tile * 8;
          for (int64_t w = 0; w < plan_.key_warps; ++w) {
            const ExprRef part =
                builder_.Load(parts_, (first + (w * kQueryRows + 8 * h)) * width + column, 2);
            builder_.Set(pair, ir::Int(0),
                         w == 0 ? part : Do(ScalarOp::kAdd, builder_.Get(pair, ir::Int(0)), part));
          }
          StorePair(row_ + 8 * h, first_column_ + column, pair);
        }
      };
      if (tiles % plan_.key_warps == 0) return add();
      builder_.If(Less(tile, ir::Int(tiles)), add);
    });
  }

  // Two neighbouring columns of one row, where they exist.
  void StorePair(const ExprRef& row, const ExprRef& column, ir::BufferId pair) {
    const ValueId anchors[] = {p_.anchor};
    const bool vectors =
        p_.width % 2 == 0 &&
        std::all_of(workload_.outputs().begin(), workload_.outputs().end(), [&](ValueId output) {
          return Fused::Vectorises(workload_, output, 3, 2, anchors);
        });
    const auto guarded = [&](const ExprRef& c, const std::function<void()>& store) {
      ExprRef inside;
      if (p_.queries % plan_.rows() != 0) inside = Less(row, ir::Int(p_.queries));
      if (p_.width % plan_.slice() != 0) {
        const ExprRef column_inside = Less(c, ir::Int(p_.width));
        inside = inside ? Do(ScalarOp::kAnd, inside, column_inside) : column_inside;
      }
      inside ? builder_.If(inside, store) : store();
    };
    const ExprRef value = builder_.Get(pair, ir::Int(0));
    if (vectors) {
      return guarded(column, [&] {
        fused_.StoreOutputs({{batch_, head_, row, column}, 3, 2, nullptr}, {{p_.anchor, value}});
      });
    }
    const ir::BufferId fold = fragments_.fold();
    builder_.Store(fold, ir::Int(0), value);
    for (int lane = 0; lane < 2; ++lane) {
      const ExprRef c = builder_.Let("e", column + lane);
      guarded(c, [&] {
        fused_.StoreOutputs({{batch_, head_, row, c}, -1, 1, nullptr},
                            {{p_.anchor, builder_.Load(fold, ir::Int(lane))}});
      });
    }
  }

  const Workload& workload_;
  const AttentionPlan& plan_;
  const AttentionProblem& p_;
  const Value& node_;
  ir::KernelBuilder builder_;
  Fused fused_;
  const ir::BufferId q_, k_, v_;
  AttentionFragments fragments_;
  AttentionStage stage_q_, stage_k_, stage_v_;
  ir::BufferId top_ = 0, sum_ = 0, next_ = 0, factor_ = 0, spread_ = 0, scale_ = 0;
  ir::BufferId parts_ = 0, stats_ = 0;
  ExprRef thread_, warp_, key_warp_, warp_row_, batch_, head_, first_row_, first_column_, row_;
};

}  // namespace

LoweredKernel LowerGpuAttention(const Workload& workload, const AttentionPlan& plan) {
  return AttentionEmitter(workload, plan).Run();
}

}  // namespace mlc::schedule::gpu
