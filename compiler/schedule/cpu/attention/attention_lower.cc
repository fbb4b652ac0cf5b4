#include "compiler/schedule/cpu/attention/attention_lower.h"

#include <algorithm>
#include <limits>

#include "base/ceil_div.h"
#include "compiler/schedule/cpu/register_tile.h"
#include "compiler/schedule/cpu/shifted_exp.h"
#include "compiler/schedule/fusion/fused.h"

namespace mlc::schedule {

using graph::Value;
using graph::ValueId;
using graph::Workload;
using ir::ExprRef;

namespace {

ExprRef Do(ScalarOp op, ExprRef a, ExprRef b) {
  return ir::MakeApply(op, {std::move(a), std::move(b)});
}

// Chains of the row-wise softmax.
constexpr int kChains = 4;

class AttentionEmitter {
 public:
  AttentionEmitter(const Workload& workload, const target::Target& target,
                   const AttentionProblem& problem, const AttentionKnobs& knobs)
      : workload_(workload),
        problem_(problem),
        knobs_(knobs),
        node_(workload.graph()[problem.anchor]),
        lanes_(target.cpu().Lanes(DType::kF32)),
        builder_("attention"),
        fused_(workload, builder_),
        scores_(builder_, knobs.rows, knobs.key_vectors, lanes_),
        output_(builder_, knobs.rows, knobs.value_vectors, lanes_) {
    key_panel_ = int64_t{lanes_} * knobs.key_vectors;
    value_panel_ = int64_t{lanes_} * knobs.value_vectors;
    padded_keys_ = CeilDiv(problem.keys, key_panel_) * key_panel_;
    held_keys_ = problem.counted ? CeilDiv(problem.keys, int64_t{lanes_}) * lanes_ : problem.keys;
    padded_width_ = CeilDiv(problem.width, value_panel_) * value_panel_;
    padded_depth_ = CeilDiv(problem.depth, lanes_) * lanes_;
    k_ = builder_.Thread("k", DType::kF32, problem.depth * padded_keys_);
    v_ = builder_.Thread("v", DType::kF32, held_keys_ * padded_width_);
    q_ = builder_.Thread("q", DType::kF32, knobs.rows * padded_depth_);
    s_ = builder_.Thread("s", DType::kF32, knobs.rows * padded_keys_);
    inverse_ = builder_.Thread("inverse", DType::kF32, knobs.rows);
    acc_ = builder_.Registers("part", DType::kF32, lanes_, kChains);
    stat_ = builder_.Registers("stat", DType::kF32, lanes_, 1);
    now_ = builder_.Registers("now", DType::kF32, lanes_, 1);
  }

  LoweredKernel Run() {
    const int64_t splits = knobs_.splits;
    builder_.Parallel("p", problem_.Heads() * splits, [&](const ExprRef& p) {
      CountKeys();
      const ExprRef head = builder_.Let("bh", ir::FloorDiv(p, splits));
      const ExprRef split = builder_.Let("sp", ir::Mod(p, splits));
      b_ = builder_.Let("b", ir::FloorDiv(head, problem_.heads));
      h_ = builder_.Let("h", ir::Mod(head, problem_.heads));
      PackKeys();
      PackValues();
      Queries(split);
    });
    return {builder_.Finish(), fused_.bindings(), {}, row_loops_};
  }

 private:
  // A vector of an operand [B,H,n,m] at (row, column) along `dim`; scalars where none can be
  // formed. Calls store(row, column, value): the value is a vector, or one lane of it.
  using Put = std::function<void(const ExprRef& row, const ExprRef& column, ExprRef value)>;

  // The keys that there are, and loops over them that end there.
  void CountKeys() {
    count_ = ir::Int(problem_.keys);
    if (!problem_.counted) return;
    const ValueId count = node_.operands[kAttentionKeys];
    const ExprRef value = fused_.Emit(count, Point{{ir::Int(0)}, -1, 1, nullptr});
    count_ = builder_.Let("keys", ir::Min(ir::Max(ir::MakeCast(DType::kI64, value), ir::Int(1)),
                                          ir::Int(problem_.keys)));
  }
  // Parts of `size` keys, the last of which may be a part; `all` are those of all keys.
  ExprRef PartsOfKeys(int64_t size, int64_t all) const {
    return problem_.counted ? ir::FloorDiv(count_ + (size - 1), size) : ir::Int(all);
  }

  // Visits rows x columns of an operand along its last dimension.
  void Visit(ValueId operand, const ExprRef& first_row, const ExprRef& rows, int64_t columns,
             const Put& put) {
    const bool vectors = Fused::Vectorises(workload_, operand, 3, lanes_);
    const int step = vectors ? lanes_ : 1;
    builder_.For("i", ir::Int(0), rows, 1, [&](const ExprRef& i) {
      const auto one = [&](const ExprRef& column, int64_t active) {
        Point point{{b_, h_, first_row + i, column}, step > 1 ? 3 : -1, step, nullptr};
        if (active != 0) point.active = ir::Int(active);
        put(i, column, fused_.Emit(operand, point));
      };
      builder_.For("j", columns / step, [&](const ExprRef& j) { one(j * int64_t{step}, 0); });
      const int64_t rest = columns % step;
      if (rest > 0) one(ir::Int(columns - rest), rest);
    });
  }

  // Keys as [panel][depth][key of the panel], keys past the end zero.
  void PackKeys() {
    const ValueId k = node_.operands[1];
    const bool vectors = Fused::Vectorises(workload_, k, 2, lanes_);
    const int64_t panels = padded_keys_ / key_panel_;
    const auto at = [&](const ExprRef& panel, const ExprRef& d, const ExprRef& key) {
      return (panel * problem_.depth + d) * key_panel_ + key;
    };
    if (!vectors) {
      builder_.For("z", problem_.depth * padded_keys_ / lanes_, [&](const ExprRef& z) {
        builder_.Store(k_, z * int64_t{lanes_}, ir::Float(DType::kF32, 0, lanes_));
      });
      builder_.For("t", ir::Int(0), count_, 1, [&](const ExprRef& t) {
        builder_.For("d", problem_.depth, [&](const ExprRef& d) {
          const ExprRef value = fused_.Emit(k, Point{{b_, h_, t, d}, -1, 1, nullptr});
          const ExprRef panel = builder_.Let("n", ir::FloorDiv(t, key_panel_));
          builder_.Store(k_, at(panel, d, builder_.Let("l", ir::Mod(t, key_panel_))), value);
        });
      });
      return;
    }
    const auto pack = [&](const ExprRef& panel, int64_t vector, int64_t active) {
      // Sixteen keys at a time: their lines stay in the cache over all depths.
      builder_.For("d", problem_.depth, [&](const ExprRef& d) {
        const ExprRef key = panel * key_panel_ + vector * lanes_;
        Point point{{b_, h_, key, d}, 2, lanes_, nullptr};
        if (active != 0) point.active = ir::Int(active);
        const ExprRef value =
            active < 0 ? ir::Float(DType::kF32, 0, lanes_) : fused_.Emit(k, point);
        builder_.Store(k_, at(panel, d, ir::Int(vector * lanes_)), value);
      });
    };
    const int64_t whole = problem_.keys / key_panel_;
    const ExprRef parts = PartsOfKeys(key_panel_, whole);
    const ExprRef end = problem_.counted ? ir::Min(parts, ir::Int(whole)) : parts;
    builder_.For("n", ir::Int(0), end, 1, [&](const ExprRef& panel) {
      for (int64_t v = 0; v < knobs_.key_vectors; ++v) pack(panel, v, 0);
    });
    if (whole == panels) return;
    for (int64_t v = 0; v < knobs_.key_vectors; ++v) {
      const int64_t left = problem_.keys - whole * key_panel_ - v * lanes_;
      pack(ir::Int(whole), v, left >= lanes_ ? 0 : left <= 0 ? -1 : left);
    }
  }

  // Values as [panel][key][column of the panel], columns past the end zero.
  void PackValues() {
    const ValueId v = node_.operands[2];
    const bool clean = problem_.width == padded_width_;
    if (!clean) {
      builder_.For("z", held_keys_ * padded_width_ / lanes_, [&](const ExprRef& z) {
        builder_.Store(v_, z * int64_t{lanes_}, ir::Float(DType::kF32, 0, lanes_));
      });
    }
    Visit(v, ir::Int(0), count_, problem_.width,
          [&](const ExprRef& t, const ExprRef& e, ExprRef value) {
            const ExprRef panel = builder_.Let("n", ir::FloorDiv(e, value_panel_));
            const ExprRef column = builder_.Let("l", ir::Mod(e, value_panel_));
            builder_.Store(v_, (panel * held_keys_ + t) * value_panel_ + column, std::move(value));
          });
    if (problem_.counted && clean) ClearValues();
  }

  // Up to whole vectors of keys.
  void ClearValues() {
    const ExprRef end = PartsOfKeys(lanes_, 0) * int64_t{lanes_};
    builder_.For("n", padded_width_ / value_panel_, [&](const ExprRef& panel) {
      builder_.For("t", count_, end, 1, [&](const ExprRef& t) {
        builder_.For("l", knobs_.value_vectors, [&](const ExprRef& l) {
          builder_.Store(v_, (panel * held_keys_ + t) * value_panel_ + l * int64_t{lanes_},
                         ir::Float(DType::kF32, 0, lanes_));
        });
      });
    });
  }

  void Queries(const ExprRef& split) {
    const int64_t rows = knobs_.rows;
    const int64_t blocks = problem_.queries / rows;
    const int64_t rest = problem_.queries % rows;
    const int64_t each = CeilDiv(blocks, knobs_.splits);
    const ExprRef first = builder_.Let("f", split * each);
    builder_.For("qb", first, ir::Min(first + each, ir::Int(blocks)), 1, [&](const ExprRef& block) {
      if (const auto* var = std::get_if<ir::VarRef>(&block->node)) {
        row_loops_.push_back({var->var, rows, 0, std::nullopt, 0, blocks});
      }
      QueryBlock(block * rows, static_cast<int>(rows));
    });
    if (rest == 0) return;
    builder_.If(Do(ScalarOp::kEqual, split, ir::Int(knobs_.splits - 1)),
                [&] { QueryBlock(ir::Int(blocks * rows), static_cast<int>(rest)); });
  }

  void QueryBlock(const ExprRef& first, int rows) {
    Visit(node_.operands[0], first, ir::Int(rows), problem_.depth,
          [&](const ExprRef& i, const ExprRef& d, ExprRef value) {
            builder_.Store(q_, i * padded_depth_ + d, std::move(value));
          });
    const RowBlock block = RowBlock::Rows(rows);
    const LoopOptions options{knobs_.unroll, 0, 0};
    const ExprRef panels = PartsOfKeys(key_panel_, padded_keys_ / key_panel_);
    builder_.For("n", ir::Int(0), panels, 1, [&](const ExprRef& panel) {
      scores_.Zero(rows);
      scores_.Loop(block, {q_, DType::kF32, ir::Int(0), 0, padded_depth_, 1},
                   {k_, DType::kF32, panel * (problem_.depth * key_panel_), key_panel_},
                   problem_.depth, options);
      builder_.Unrolled("r", rows, [&](const ExprRef& r) {
        builder_.Unrolled("v", knobs_.key_vectors, [&](const ExprRef& v) {
          builder_.Store(s_, r * padded_keys_ + panel * key_panel_ + v * int64_t{lanes_},
                         scores_.Get(r, v));
        });
      });
    });
    builder_.For("r", rows, [&](const ExprRef& r) { SoftmaxRow(r, first + r); });
    builder_.For("n", padded_width_ / value_panel_, [&](const ExprRef& panel) {
      output_.Zero(rows);
      MultiplyValues(block, panel, options);
      StorePanel(panel, first, rows);
    });
  }

  void MultiplyValues(const RowBlock& block, const ExprRef& panel, const LoopOptions& options) {
    const auto multiply = [&](const ExprRef& key, int64_t keys) {
      const ExprRef values = panel * (held_keys_ * value_panel_) + key * value_panel_;
      output_.Loop(block, {s_, DType::kF32, key, 0, padded_keys_, 1},
                   {v_, DType::kF32, values, value_panel_}, keys, options);
    };
    if (!problem_.counted) return multiply(ir::Int(0), problem_.keys);
    builder_.For("t", ir::Int(0), PartsOfKeys(lanes_, 0), 1,
                 [&](const ExprRef& t) { multiply(t * int64_t{lanes_}, lanes_); });
  }

  void StorePanel(const ExprRef& panel, const ExprRef& first, int rows) {
    const int64_t whole = problem_.width / value_panel_;
    const auto store = [&](bool tail) {
      builder_.Unrolled("r", rows, [&](const ExprRef& r) {
        const ExprRef inverse = ir::MakeBroadcast(builder_.Load(inverse_, r), lanes_);
        for (int64_t v = 0; v < knobs_.value_vectors; ++v) {
          const int64_t left = problem_.width - whole * value_panel_ - v * lanes_;
          if (tail && left <= 0) continue;
          const ExprRef e = (tail ? ir::Int(whole) : panel) * value_panel_ + v * lanes_;
          Point point{{b_, h_, first + r, e}, 3, lanes_, nullptr};
          if (tail && left < lanes_) point.active = ir::Int(left);
          ExprRef value = Do(ScalarOp::kMul, output_.Get(r, ir::Int(v)), inverse);
          if (problem_.width == 1) {
            value = ir::MakeReduce(ScalarOp::kAdd, Masked(value, ir::Int(1), 0));
            point = {{b_, h_, first + r, e}, -1, 1, nullptr};
          }
          fused_.StoreOutputs(point, {{problem_.anchor, value}});
        }
      });
    };
    if (whole * value_panel_ == problem_.width) return store(false);
    if (whole == 0) return store(true);
    builder_.If(
        Do(ScalarOp::kLess, panel, ir::Int(whole)), [&] { store(false); }, [&] { store(true); });
  }

  // Visits the vectors of a row of scores; `active` is null when all lanes are keys.
  using Sweep = std::function<void(const ExprRef& key, const ExprRef& slot, const ExprRef& chain,
                                   const ExprRef& active)>;
  void SweepRow(const ExprRef& r, const Sweep& body) {
    const int64_t step = int64_t{lanes_} * kChains;
    const ExprRef whole = ir::FloorDiv(count_, step);
    builder_.For("c", ir::Int(0), whole, 1, [&](const ExprRef& c) {
      builder_.Unrolled("j", kChains, [&](const ExprRef& j) {
        const ExprRef key = c * step + j * int64_t{lanes_};
        body(key, r * padded_keys_ + key, j, nullptr);
      });
    });
    if (problem_.counted) {
      builder_.For("t", whole * int64_t{kChains}, PartsOfKeys(lanes_, 0), 1, [&](const ExprRef& t) {
        const ExprRef key = builder_.Let("key", t * int64_t{lanes_});
        body(key, r * padded_keys_ + key, ir::Int(0), builder_.Let("left", count_ - key));
      });
      return;
    }
    int64_t chain = 0;
    for (int64_t key = problem_.keys / step * step; key < problem_.keys; key += lanes_, ++chain) {
      const int64_t left = problem_.keys - key;
      body(ir::Int(key), r * padded_keys_ + key, ir::Int(chain),
           left < lanes_ ? ir::Int(left) : nullptr);
    }
  }

  ExprRef Masked(ExprRef value, const ExprRef& active, double neutral) const {
    if (active == nullptr) return value;
    return ir::MakeApply(ScalarOp::kSelect, {ir::MakeLaneMask(active, lanes_), value,
                                             ir::Float(DType::kF32, neutral, lanes_)});
  }

  void Start(double neutral) {
    for (int j = 0; j < kChains; ++j) {
      builder_.Set(acc_, ir::Int(j), ir::Float(DType::kF32, neutral, lanes_));
    }
  }
  ExprRef Total(ScalarOp op) {
    ExprRef total = builder_.Get(acc_, ir::Int(0));
    for (int j = 1; j < kChains; ++j) total = Do(op, total, builder_.Get(acc_, ir::Int(j)));
    return ir::MakeReduce(op, total);
  }
  ExprRef Once(ExprRef value) {
    builder_.Set(now_, ir::Int(0), std::move(value));
    return builder_.Get(now_, ir::Int(0));
  }

  // The mask at keys key .. key+lanes-1, broadcast from its own dims.
  ExprRef MaskAt(const ExprRef& query, const ExprRef& key, const ExprRef& active) {
    const ValueId mask = node_.operands[3];
    const int rank = workload_.graph()[mask].type.rank();
    const std::vector<ExprRef> at = {b_, h_, query, key};
    Point point{{at.end() - rank, at.end()}, rank - 1, lanes_, active};
    if (rank == 0) point = Point{};
    const ExprRef value = fused_.Emit(mask, point);
    return value->type.lanes == lanes_ ? value : ir::MakeBroadcast(value, lanes_);
  }

  // Turns scores into unnormalised probabilities and leaves 1 / sum for the output.
  void SoftmaxRow(const ExprRef& r, const ExprRef& query) {
    const double infinity = std::numeric_limits<double>::infinity();
    const ExprRef scale = ir::Float(DType::kF32, problem_.scale, lanes_);
    Start(-infinity);
    SweepRow(r, [&](const ExprRef& key, const ExprRef& slot, const ExprRef& j,
                    const ExprRef& active) {
      ExprRef x = builder_.Load(s_, slot, lanes_);
      x = problem_.masked ? ir::MakeApply(ScalarOp::kFma, {x, scale, MaskAt(query, key, active)})
                          : Do(ScalarOp::kMul, x, scale);
      x = Once(Masked(x, active, -infinity));
      builder_.Store(s_, slot, x);
      builder_.Set(acc_, j, Do(ScalarOp::kMax, builder_.Get(acc_, j), x));
    });
    builder_.Set(stat_, ir::Int(0), ir::MakeBroadcast(Total(ScalarOp::kMax), lanes_));
    Start(0);
    SweepRow(r, [&](const ExprRef&, const ExprRef& slot, const ExprRef& j, const ExprRef& active) {
      const ExprRef e =
          Once(ShiftedExp(builder_.Load(s_, slot, lanes_), builder_.Get(stat_, ir::Int(0))));
      builder_.Store(s_, slot, e);
      builder_.Set(acc_, j, Do(ScalarOp::kAdd, builder_.Get(acc_, j), Masked(e, active, 0)));
    });
    builder_.Store(inverse_, r,
                   Do(ScalarOp::kDiv, ir::Float(DType::kF32, 1), Total(ScalarOp::kAdd)));
  }

  const Workload& workload_;
  const AttentionProblem& problem_;
  const AttentionKnobs& knobs_;
  const Value& node_;
  const int lanes_;
  ir::KernelBuilder builder_;
  Fused fused_;
  RegisterTile scores_;
  RegisterTile output_;
  int64_t key_panel_ = 0, value_panel_ = 0;
  int64_t padded_keys_ = 0, padded_width_ = 0, padded_depth_ = 0;
  int64_t held_keys_ = 0;  // of the values that are kept
  ir::BufferId k_ = 0, v_ = 0, q_ = 0, s_ = 0, inverse_ = 0;
  ir::BufferId acc_ = 0, stat_ = 0, now_ = 0;
  std::vector<ir::RowLoop> row_loops_;  // over the queries
  ExprRef b_, h_;
  ExprRef count_;  // of keys
};

}  // namespace

LoweredKernel LowerAttention(const Workload& workload, const target::Target& target,
                             const AttentionProblem& problem, const AttentionKnobs& knobs) {
  return AttentionEmitter(workload, target, problem, knobs).Run();
}

}  // namespace mlc::schedule
