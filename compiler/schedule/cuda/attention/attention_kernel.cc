#include <functional>
#include <limits>
#include <optional>

#include "base/ceil_div.h"
#include "compiler/schedule/cuda/attention/attention_cluster.h"
#include "compiler/schedule/cuda/attention/attention_fragments.h"
#include "compiler/schedule/cuda/attention/attention_mask.h"
#include "compiler/schedule/cuda/attention/attention_plan.h"
#include "compiler/schedule/cuda/attention/attention_softmax.h"
#include "compiler/schedule/cuda/attention/attention_stage.h"
#include "compiler/schedule/cuda/attention/attention_store.h"
#include "compiler/schedule/cuda/tile/gpu_launch.h"
#include "compiler/schedule/fusion/fused.h"

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
      : plan_(plan),
        p_(plan.problem),
        node_(workload.graph()[p_.anchor]),
        builder_("attention"),
        fused_(workload, builder_),
        q_(builder_.SharedMemory("q_rows", plan.data, plan.rows() * plan.pitch(plan.depth()))),
        k_(builder_.SharedMemory("k_rows", plan.data,
                                 plan.stages * plan.chunk * plan.pitch(plan.depth()))),
        v_(builder_.SharedMemory("v_rows", plan.data,
                                 plan.stages * plan.chunk * plan.pitch(plan.slice()))),
        fragments_(builder_, plan, q_, k_, v_),
        stage_q_(workload, builder_, fused_, node_.operands[0], plan),
        stage_k_(workload, builder_, fused_, node_.operands[1], plan),
        stage_v_(workload, builder_, fused_, node_.operands[2], plan),
        mask_(workload, builder_, fused_, plan, fragments_.fold()),
        softmax_(builder_, plan, fragments_),
        store_(workload, builder_, fused_, plan, fragments_.fold()) {
    if (AllNarrow(workload)) builder_.Approximate();
    if (plan.key_warps > 1) {
      const int64_t rows = int64_t{plan.warps} * kQueryRows;
      parts_ = builder_.SharedMemory("parts", DType::kF32, rows * plan.slice());
      stats_ = builder_.SharedMemory("stats", DType::kF32, rows * 2);
    }
    if (plan_.split > 1) cluster_.emplace(builder_, plan_, store_);
  }

  LoweredKernel Run() {
    const auto body = [&](const ExprRef& block, const ExprRef& thread) {
      Locate(block, thread);
      FetchAhead();
      builder_.AwaitInputs();
      builder_.ReleaseDependents();
      store_.Begin(batch_, head_);
      CountKeys();
      builder_.Unrolled("e", fragments_.output_tiles(),
                        [&](const ExprRef& e) { builder_.Set(fragments_.output(), e, F32(0, 4)); });
      softmax_.Reset();
      Chunks();
      Finish();
    };
    builder_.Launch(plan_.blocks(), plan_.threads(), 1, body, plan_.split);
    return {builder_.Finish(), fused_.bindings(), {}};
  }

 private:
  // The keys that there are.
  void CountKeys() {
    keys_ = ir::Int(p_.keys);
    if (!p_.counted) return;
    const ExprRef count =
        fused_.Emit(node_.operands[kAttentionKeys], {{ir::Int(0)}, -1, 1, nullptr});
    keys_ = builder_.Let(
        "keys", ir::Min(ir::Max(ir::MakeCast(DType::kI64, count), ir::Int(1)), ir::Int(p_.keys)));
  }
  // A loop over the chunks of a block that have keys; those of a cluster are all visited.
  void ForChunks(const std::function<void(const ExprRef& index, const ExprRef& end)>& body) {
    ExprRef end = ir::Int(plan_.block_chunks());
    if (p_.counted && plan_.split == 1) {
      end = builder_.Let("chunks", ir::FloorDiv(keys_ + (plan_.chunk - 1), plan_.chunk));
    }
    builder_.For("chunk", ir::Int(0), end, 1, [&](const ExprRef& index) { body(index, end); });
  }

  void Locate(const ExprRef& grid_block, const ExprRef& thread) {
    thread_ = thread;
    ExprRef block = grid_block;
    if (plan_.split > 1) {
      rank_ = builder_.Let("rank", ir::Mod(grid_block, int64_t{plan_.split}));
      first_chunk_ = builder_.Let("first_chunk", rank_ * plan_.block_chunks());
      block = builder_.Let("place", ir::FloorDiv(grid_block, int64_t{plan_.split}));
    }
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
    mask_.Begin(batch_, head_, row_);
  }

  // The chunk at this index of the block's.
  ExprRef ChunkOf(const ExprRef& index) {
    int64_t number = 0;
    if (plan_.split == 1) return index;
    if (ir::IsConstInt(index, &number) && number == 0) return first_chunk_;
    return builder_.Let("chunk_at", first_chunk_ + index);
  }
  void CopyQueries() {
    stage_q_.Copy(q_, ir::Int(0), plan_.pitch(plan_.depth()),
                  {batch_, head_, first_row_, plan_.rows(), ir::Int(p_.queries), ir::Int(0),
                   plan_.depth(), p_.depth},
                  thread_);
  }
  ExprRef BaseOf(const ExprRef& chunk, int64_t pitch) {
    if (plan_.stages == 1) return ir::Int(0);
    return builder_.Let("base", ir::Mod(chunk, int64_t{plan_.stages}) * (plan_.chunk * pitch));
  }
  AttentionStage::Part KeysOf(const ExprRef& chunk, const ExprRef& end) const {
    return {batch_, head_,      chunk * plan_.chunk, plan_.chunk,
            end,    ir::Int(0), plan_.depth(),       p_.depth};
  }
  AttentionStage::Part ValuesOf(const ExprRef& chunk, const ExprRef& end) const {
    return {batch_, head_,         chunk * plan_.chunk, plan_.chunk,
            end,    first_column_, plan_.slice(),       p_.width};
  }
  void CopyKeys(const ExprRef& chunk) {
    const int64_t pitch = plan_.pitch(plan_.depth());
    stage_k_.Copy(k_, BaseOf(chunk, pitch), pitch, KeysOf(chunk, keys_), thread_);
  }
  void CopyValues(const ExprRef& chunk) {
    const int64_t pitch = plan_.pitch(plan_.slice());
    stage_v_.Copy(v_, BaseOf(chunk, pitch), pitch, ValuesOf(chunk, keys_), thread_);
  }
  // Few queries are a step of a decoder, most of whose keys are old: L2 fetches them from memory
  // while the launches before this one end. What these still write is right in L2, too.
  void FetchAhead() {
    if (plan_.split == 1 || plan_.block_chunks() > 1) return;
    const ExprRef chunk = ChunkOf(ir::Int(0));
    stage_k_.FetchAhead(KeysOf(chunk, ir::Int(p_.keys)), thread_);
    stage_v_.FetchAhead(ValuesOf(chunk, ir::Int(p_.keys)), thread_);
  }
  void Wait(int pending) {
    builder_.WaitCopies(pending);
    builder_.Barrier();
  }

  void Chunks() {
    const int64_t chunks = plan_.block_chunks();
    CopyQueries();
    if (chunks == 1) {
      // Scores need no values yet.
      const ExprRef only = ChunkOf(ir::Int(0));
      CopyKeys(only);
      builder_.CommitCopies();
      CopyValues(only);
      builder_.CommitCopies();
      if (mask_.IsAhead()) {
        const ExprRef first = only * plan_.chunk + key_warp_ * int64_t{plan_.key_block};
        mask_.Read(builder_.Let("first_masked", first + fragments_.pair()));
      }
      Wait(1);
      fragments_.LoadQueries();
      return Steps(only, true);
    }
    builder_.CommitCopies();
    const auto copy = [&](const ExprRef& chunk) {
      CopyKeys(chunk);
      CopyValues(chunk);
    };
    if (plan_.stages == 1) {
      Wait(0);
      fragments_.LoadQueries();
      ForChunks([&](const ExprRef& index, const ExprRef&) {
        const ExprRef chunk = ChunkOf(index);
        copy(chunk);
        builder_.CommitCopies();
        Wait(0);
        Steps(chunk, false);
        builder_.Barrier();
      });
      return;
    }
    copy(ChunkOf(ir::Int(0)));
    builder_.CommitCopies();
    Wait(1);
    fragments_.LoadQueries();
    ForChunks([&](const ExprRef& index, const ExprRef& end) {
      const ExprRef chunk = ChunkOf(index);
      builder_.If(Less(index, end - 1), [&] { copy(builder_.Let("ahead", chunk + 1)); });
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
      softmax_.Update();
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
    const bool tail = p_.counted || p_.keys % plan_.chunk != 0;
    for (int64_t n = 0; n < fragments_.score_tiles(); ++n) {
      const ExprRef at = ir::Int(n);
      ExprRef s = Do(ScalarOp::kMul, builder_.Get(fragments_.scores(), at), F32(p_.scale, 4));
      const ExprRef key =
          tail || p_.masked ? builder_.Let("key", first_key + fragments_.pair() + n * 8) : nullptr;
      if (p_.masked) {
        s = Do(ScalarOp::kAdd, s, mask_.At(n, key));
      }
      builder_.Set(fragments_.scores(), at, s);
      if (!tail) continue;
      builder_.If(Less(keys_, key + 2), [&] { DropPast(at, key); });
    }
  }

  void DropPast(const ExprRef& at, const ExprRef& key) {
    const ir::BufferId fold = fragments_.fold();
    builder_.Store(fold, ir::Int(0), builder_.Get(fragments_.scores(), at));
    for (int lane = 0; lane < 4; ++lane) {
      builder_.If(Do(ScalarOp::kLessEqual, keys_, key + lane % 2),
                  [&] { builder_.Store(fold, ir::Int(lane), F32(-kInfinity)); });
    }
    builder_.Set(fragments_.scores(), at, builder_.Load(fold, ir::Int(0), 4));
  }

  void Finish() {
    softmax_.AddUp();
    if (plan_.key_warps > 1) return Merge();
    if (plan_.split > 1) return ShareWarp();
    softmax_.Normalize();
    const ir::BufferId fold = fragments_.fold();
    for (int64_t e = 0; e < fragments_.output_tiles(); ++e) {
      builder_.Store(fold, ir::Int(0), builder_.Get(fragments_.output(), ir::Int(e)));
      for (int h = 0; h < 2; ++h) {
        const ir::BufferId pair = builder_.Registers("pair", DType::kF32, 2, 1);
        builder_.Set(pair, ir::Int(0), builder_.Load(fold, ir::Int(2 * h), 2));
        store_.Pair(row_ + 8 * h, first_column_ + fragments_.pair() + e * 8, pair);
      }
    }
  }

  // A warp alone with its queries brings them to the cluster.
  void ShareWarp() {
    const ExprRef row = builder_.Let("shared_row", warp_row_ + fragments_.group());
    ShareRows(row);
    const ir::BufferId fold = fragments_.fold();
    for (int64_t e = 0; e < fragments_.output_tiles(); ++e) {
      builder_.Store(fold, ir::Int(0), builder_.Get(fragments_.output(), ir::Int(e)));
      for (int h = 0; h < 2; ++h) {
        cluster_->SetPair(row + 8 * h, fragments_.pair() + e * 8,
                          builder_.Load(fold, ir::Int(2 * h), 2));
      }
    }
    cluster_->Store(rank_, thread_, first_row_, first_column_);
  }

  // Maxima and sums of the thread's rows, which the other threads of a row have as well.
  void ShareRows(const ExprRef& row) {
    builder_.If(Do(ScalarOp::kEqual, fragments_.pair() + key_warp_, ir::Int(0)), [&] {
      for (int h = 0; h < 2; ++h) {
        cluster_->SetRow(row + 8 * h, softmax_.Maximum(h), softmax_.Sum(h));
      }
    });
  }

  // Warps with the same queries: their parts on a common maximum, then added.
  void Merge() {
    const int64_t width = plan_.slice();
    const ExprRef mine = builder_.Let("mine", warp_ * kQueryRows + fragments_.group());
    softmax_.ShareStats(stats_, mine);
    const ExprRef first =
        builder_.Let("first", (warp_ - key_warp_) * kQueryRows + fragments_.group());
    if (plan_.split == 1) {
      softmax_.NormalizeAcrossWarps(stats_, first);
    } else {
      softmax_.ScaleAcrossWarps(stats_, first);
      ShareRows(builder_.Let("shared_row", warp_row_ + fragments_.group()));
    }
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
    if (plan_.split > 1) cluster_->Store(rank_, thread_, first_row_, first_column_);
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
          if (plan_.split == 1) {
            store_.Pair(row_ + 8 * h, first_column_ + column, pair);
          } else {
            cluster_->SetPair(warp_row_ + fragments_.group() + 8 * h, column,
                              builder_.Get(pair, ir::Int(0)));
          }
        }
      };
      if (tiles % plan_.key_warps == 0) return add();
      builder_.If(Less(tile, ir::Int(tiles)), add);
    });
  }

  const AttentionPlan& plan_;
  const AttentionProblem& p_;
  const Value& node_;
  ir::KernelBuilder builder_;
  Fused fused_;
  const ir::BufferId q_, k_, v_;
  AttentionFragments fragments_;
  AttentionStage stage_q_, stage_k_, stage_v_;
  AttentionMask mask_;
  AttentionSoftmax softmax_;
  AttentionStore store_;
  std::optional<AttentionCluster> cluster_;
  ir::BufferId parts_ = 0, stats_ = 0;
  ExprRef thread_, warp_, key_warp_, warp_row_, batch_, head_, first_row_, first_column_, row_,
      rank_, first_chunk_, keys_;
};

}  // namespace

LoweredKernel LowerGpuAttention(const Workload& workload, const AttentionPlan& plan) {
  return AttentionEmitter(workload, plan).Run();
}

}  // namespace mlc::schedule::gpu
