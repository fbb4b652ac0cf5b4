#include "compiler/schedule/cpu/depthwise/depthwise_lower.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "compiler/schedule/cpu/contraction/contraction_tiles.h"
#include "compiler/schedule/cpu/depthwise/depthwise_bytes.h"
#include "compiler/schedule/cpu/depthwise/depthwise_pack.h"
#include "compiler/schedule/fusion/fused.h"

namespace mlc::schedule {
namespace {

using ir::ExprRef;
using ir::Int;

struct TapProduct {
  int64_t row;
  int64_t tap;
};

// What a tile multiplies, by input, counted from the first row's.
std::map<int64_t, std::vector<TapProduct>> ProductsOf(const RowAxis& axis,
                                                      const TileSegment& tile) {
  std::map<int64_t, std::vector<TapProduct>> products;
  for (const TapRun& run : tile.runs) {
    for (int64_t tap = run.tap_begin; tap < run.tap_end; ++tap) {
      for (int64_t row = run.row_begin; row < run.row_end; ++row) {
        products[row * axis.stride + tap * axis.dilation].push_back({row, tap});
      }
    }
  }
  return products;
}

class DepthwiseLowering {
 public:
  DepthwiseLowering(const graph::Workload& workload, const ContractionProblem& problem,
                    const DepthwisePlan& plan)
      : workload_(workload),
        p_(problem),
        plan_(plan),
        builder_("depthwise"),
        fused_(workload, builder_),
        rows_(problem, plan.inner_rows, plan.outer_rows, builder_, problem.of_bytes) {}

  LoweredKernel Run();

 private:
  void EmitChunk(ExprRef rest);
  void EmitTile(const RowTile& tile, const ExprRef& block);
  void EmitTap(const RowTile& tile, const OuterTaps& outer, const TapRun& inner,
               const ExprRef& x_base, const ExprRef& w_base, const ExprRef& block);
  void EmitGroupTaps(const RowTile& tile, const OuterTaps& outer, const ExprRef& x_base,
                     const ExprRef& w_base, const ExprRef& block);
  void EmitByteTile(const RowTile& tile, const ExprRef& block, const ExprRef& x_base);
  void EmitByteTaps(const RowTile& tile, const TapWords& rows, const ExprRef& x_base,
                    const ExprRef& w_base, const ExprRef& block, const ExprRef& vector);
  ExprRef Operand(const ExprRef& at, const ExprRef& block, const ExprRef& vector);
  void StoreTile(const RowTile& tile, const ExprRef& block);
  // Active lanes of a channel vector; null when every block is full.
  ExprRef Active(const ExprRef& block, const ExprRef& vector) const;

  const graph::Workload& workload_;
  const ContractionProblem& p_;
  const DepthwisePlan& plan_;
  ir::KernelBuilder builder_;
  Fused fused_;
  RowTiles rows_;
  ir::BufferId weights_ = 0;
  ir::BufferId acc_ = 0;
  ir::BufferId filter_ = 0;
  ir::BufferId shuffled_ = 0;  // an operand's lanes in the order of another input channel
  ir::BufferId words_ = 0;     // of bytes: those of a column of the input
  std::vector<ExprRef> at_;
  ExprRef depth_at_;
  ExprRef batch_;
};

LoweredKernel DepthwiseLowering::Run() {
  const int64_t elements = PackedFilterElements(p_, plan_);
  std::vector<Binding> bindings = fused_.bindings();
  LoweredKernel lowered;
  const auto operand = static_cast<size_t>(p_.column_operand);
  if (p_.column_is_weight) {
    weights_ = builder_.In("packed", p_.SumType(), elements);
    bindings.push_back({Binding::Kind::kPrepared, 0});
    ir::KernelBuilder pack("pack_filters");
    const graph::TensorType& type = workload_.graph()[workload_.operands()[operand]].type;
    const ir::BufferId source = pack.In("w", type.dtype, type.Extent());
    const ir::BufferId packed = pack.Out("packed", p_.SumType(), elements);
    EmitPackFilters(p_, plan_, source, packed, pack);
    lowered.preparations.push_back({pack.Finish(), {p_.column_operand}, p_.SumType(), elements});
  } else {
    weights_ = builder_.Workspace("packed", p_.SumType(), elements);
    EmitPackFilters(p_, plan_, fused_.OperandBuffer(p_.column_operand), weights_, builder_);
  }
  acc_ = builder_.Registers("acc", p_.SumType(), plan_.lanes,
                            int64_t{rows_.MaxRows()} * plan_.vectors);
  const bool grouped = plan_.group_width > 1;
  if (p_.of_bytes) {
    words_ = builder_.Registers("word", DType::kI32, plan_.lanes,
                                plan_.outer_rows * ColumnWords(p_) / kTapsOfWord);
  } else {
    filter_ = builder_.Registers("filter", DType::kF32, plan_.lanes,
                                 grouped ? p_.inner.taps : plan_.vectors);
  }
  if (grouped) shuffled_ = builder_.Registers("turned", DType::kF32, plan_.lanes, 1);
  const int64_t batches = p_.Batches() / Groups(p_);
  builder_.Parallel("chunk", batches * p_.outer[0].out * plan_.row_chunks * plan_.channel_chunks,
                    [&](const ExprRef& index) { EmitChunk(index); });
  lowered.kernel = builder_.Finish();
  lowered.bindings = std::move(bindings);
  return lowered;
}

void DepthwiseLowering::EmitChunk(ExprRef rest) {
  const auto take = [&](const char* name, int64_t extent) {
    const ExprRef value = builder_.Let(name, ir::Mod(rest, extent));
    rest = ir::FloorDiv(rest, extent);
    return value;
  };
  const ExprRef channel_chunk = take("cc", plan_.channel_chunks);
  const ExprRef row_chunk = take("rc", plan_.row_chunks);
  depth_at_ = take("d", p_.outer[0].out);
  at_.assign(static_cast<size_t>(p_.rank), Int(0));
  batch_ = Int(0);
  for (int i = 0; i < p_.batch_count; ++i) {
    const BatchAxis& axis = p_.batch[static_cast<size_t>(i)];
    if (axis.group) continue;
    // A convolution has one batch dimension besides the groups.
    at_[static_cast<size_t>(axis.dim)] = rest;
    batch_ = rest * axis.row_stride;
  }
  if (p_.outer[0].dim >= 0) at_[static_cast<size_t>(p_.outer[0].dim)] = depth_at_;
  const ExprRef first = ir::FloorDiv(channel_chunk * plan_.blocks, plan_.channel_chunks);
  const ExprRef last = ir::FloorDiv((channel_chunk + 1) * plan_.blocks, plan_.channel_chunks);
  const auto blocks = [&](const std::function<void(const ExprRef&)>& body) {
    builder_.For("block", first, last, 1, body);
  };
  if (plan_.rows_first) {
    rows_.ForEach(row_chunk, plan_.row_chunks, [&](const RowTile& tile) {
      blocks([&](const ExprRef& block) { EmitTile(tile, block); });
    });
  } else {
    blocks([&](const ExprRef& block) {
      rows_.ForEach(row_chunk, plan_.row_chunks,
                    [&](const RowTile& tile) { EmitTile(tile, block); });
    });
  }
}

ExprRef DepthwiseLowering::Active(const ExprRef& block, const ExprRef& vector) const {
  return ActiveFrom(plan_, block * plan_.width() + vector * int64_t{plan_.lanes}, plan_.lanes);
}

void DepthwiseLowering::EmitTile(const RowTile& tile, const ExprRef& block) {
  const ExprRef zero =
      p_.of_bytes ? JoinBytes({}, plan_.lanes) : ir::Float(DType::kF32, 0.0, plan_.lanes);
  builder_.Unrolled("r", int64_t{tile.rows()} * plan_.vectors,
                    [&](const ExprRef& r) { builder_.Set(acc_, r, zero); });
  const RowAxis& depth = p_.outer[0];
  const RowAxis& height = p_.outer[1];
  const ExprRef x_base = builder_.Let(
      "x", batch_ + rows_.Base(tile, depth_at_) + block * (plan_.width() * p_.row_k_stride));
  if (p_.of_bytes) {
    EmitByteTile(tile, block, x_base);
    return StoreTile(tile, block);
  }
  const int64_t tap_filters = plan_.group_width * plan_.width();
  const ExprRef w_base = builder_.Let("w", block * (p_.Taps() * tap_filters));
  rows_.ForOuterTaps(
      tile, depth_at_, [&](const ExprRef& d, const ExprRef& h, const OuterTaps& outer) {
        const ExprRef x_row = x_base + d * (depth.dilation * depth.row_stride) +
                              h * (height.dilation * height.row_stride);
        const ExprRef w_row = w_base + (d * height.taps + h) * (p_.inner.taps * tap_filters);
        if (plan_.group_width > 1) return EmitGroupTaps(tile, outer, x_row, w_row, block);
        for (const TapRun& inner : tile.inner->runs)
          EmitTap(tile, outer, inner, x_row, w_row, block);
      });
  StoreTile(tile, block);
}

void DepthwiseLowering::EmitTap(const RowTile& tile, const OuterTaps& outer, const TapRun& inner,
                                const ExprRef& x_base, const ExprRef& w_base,
                                const ExprRef& block) {
  const int64_t row_step = p_.inner.stride * p_.inner.row_stride;
  const int64_t outer_step = p_.outer[1].stride * p_.outer[1].row_stride;
  const int64_t rows = inner.row_end - inner.row_begin;
  const auto tap = [&](const ExprRef& kw) {
    const ExprRef x = x_base + kw * (p_.inner.dilation * p_.inner.row_stride) +
                      (outer.row_begin * outer_step + inner.row_begin * row_step);
    builder_.Unrolled("v", plan_.vectors, [&](const ExprRef& v) {
      builder_.Set(filter_, v,
                   builder_.Load(weights_, w_base + kw * plan_.width() + v * int64_t{plan_.lanes},
                                 plan_.lanes));
    });
    builder_.Unrolled("o", outer.row_end - outer.row_begin, [&](const ExprRef& o) {
      builder_.Unrolled("i", rows, [&](const ExprRef& i) {
        builder_.Unrolled("v", plan_.vectors, [&](const ExprRef& v) {
          const ExprRef value = Operand(x + o * outer_step + i * row_step, block, v);
          const ExprRef row =
              (o + outer.row_begin) * int64_t{tile.inner->rows} + i + inner.row_begin;
          const ExprRef index = row * plan_.vectors + v;
          builder_.Set(acc_, index,
                       ir::MakeApply(ScalarOp::kFma,
                                     {value, builder_.Get(filter_, v), builder_.Get(acc_, index)}));
        });
      });
    });
  };
  const int64_t taps = inner.tap_end - inner.tap_begin;
  if (taps <= 5) {
    builder_.Unrolled("kw", taps, [&](const ExprRef& kw) { tap(kw + inner.tap_begin); });
  } else {
    builder_.For("kw", Int(inner.tap_begin), Int(inner.tap_end), 1, tap);
  }
}

// A channel vector of the pixel at `at`.
ExprRef DepthwiseLowering::Operand(const ExprRef& at, const ExprRef& block, const ExprRef& vector) {
  const ExprRef value = builder_.Load(fused_.OperandBuffer(p_.row_operand),
                                      at + vector * (plan_.lanes * p_.row_k_stride), plan_.lanes,
                                      std::max<int64_t>(1, p_.row_k_stride), Active(block, vector));
  return p_.row_dtype == p_.SumType() ? value : ir::MakeCast(p_.SumType(), value);
}

void DepthwiseLowering::EmitByteTile(const RowTile& tile, const ExprRef& block,
                                     const ExprRef& x_base) {
  const std::vector<TapRun> one = {{0, 1, 0, 1}};
  const TapWords rows =
      WordsOf(p_.outer[1], tile.outer_rows(), tile.outer != nullptr ? tile.outer->runs : one);
  const int64_t filter = p_.inner.taps * ColumnWords(p_) * plan_.width();
  rows_.ForDepthTaps(depth_at_, [&](const ExprRef& d) {
    const ExprRef x = x_base + d * (p_.outer[0].dilation * p_.outer[0].row_stride);
    const ExprRef w = builder_.Let("w", (block * p_.outer[0].taps + d) * filter);
    builder_.Unrolled("v", plan_.vectors,
                      [&](const ExprRef& v) { EmitByteTaps(tile, rows, x, w, block, v); });
  });
}

// Column after column of the input: its words are multiplied with every tap that meets them.
void DepthwiseLowering::EmitByteTaps(const RowTile& tile, const TapWords& rows,
                                     const ExprRef& x_base, const ExprRef& w_base,
                                     const ExprRef& block, const ExprRef& vector) {
  const RowAxis& height = p_.outer[1];
  for (const auto& [column, meets] : ProductsOf(p_.inner, *tile.inner)) {
    for (size_t w = 0; w < rows.words.size(); ++w) {
      std::array<ExprRef, kTapsOfWord> bytes;
      for (size_t i = 0; i < bytes.size(); ++i) {
        if (!rows.words[w].inside[i]) continue;
        const int64_t row = rows.words[w].first + static_cast<int64_t>(i) * height.dilation;
        bytes[i] =
            Operand(x_base + row * height.row_stride + column * p_.inner.row_stride, block, vector);
      }
      builder_.Set(words_, Int(static_cast<int64_t>(w)), JoinBytes(bytes, plan_.lanes));
    }
    for (const TapUse& use : rows.uses) {
      for (const TapProduct& product : meets) {
        const int64_t part = product.tap * ColumnWords(p_) + use.part * kTapsOfWord + use.begin;
        const ExprRef filter = builder_.Load(
            weights_, w_base + part * plan_.width() + vector * int64_t{plan_.lanes}, plan_.lanes);
        const ExprRef index =
            Int(int64_t{use.row} * tile.inner->rows + product.row) * plan_.vectors + vector;
        const ExprRef word = builder_.Get(words_, Int(static_cast<int64_t>(use.word)));
        builder_.Set(acc_, index,
                     ir::MakeApply(ScalarOp::kDot4, {word, filter, builder_.Get(acc_, index)}));
      }
    }
  }
}

// Input after input: what is shuffled once is multiplied with every tap that meets it.
void DepthwiseLowering::EmitGroupTaps(const RowTile& tile, const OuterTaps& outer,
                                      const ExprRef& x_base, const ExprRef& w_base,
                                      const ExprRef& block) {
  const RowAxis& axis = p_.inner;
  const int64_t outer_step = p_.outer[1].stride * p_.outer[1].row_stride;
  const std::map<int64_t, std::vector<TapProduct>> products = ProductsOf(axis, *tile.inner);
  std::set<int64_t> taps;
  for (const TapRun& run : tile.inner->runs) {
    for (int64_t tap = run.tap_begin; tap < run.tap_end; ++tap) taps.insert(tap);
  }
  builder_.Unrolled("v", plan_.vectors, [&](const ExprRef& v) {
    for (int k = 0; k < plan_.group_width; ++k) {
      for (const int64_t tap : taps) {
        const ExprRef at =
            w_base + ((tap * plan_.group_width + k) * plan_.width()) + v * int64_t{plan_.lanes};
        builder_.Set(filter_, Int(tap), builder_.Load(weights_, at, plan_.lanes));
      }
      builder_.Unrolled("o", outer.row_end - outer.row_begin, [&](const ExprRef& o) {
        const ExprRef row = o + outer.row_begin;
        for (const auto& [input, meets] : products) {
          const ExprRef x = Operand(x_base + row * outer_step + input * axis.row_stride, block, v);
          builder_.Set(shuffled_, Int(0), k == 0 ? x : ir::MakeShuffleXor(x, k));
          for (const TapProduct& product : meets) {
            const ExprRef index =
                (row * int64_t{tile.inner->rows} + product.row) * plan_.vectors + v;
            builder_.Set(acc_, index,
                         ir::MakeApply(ScalarOp::kFma, {builder_.Get(shuffled_, Int(0)),
                                                        builder_.Get(filter_, Int(product.tap)),
                                                        builder_.Get(acc_, index)}));
          }
        }
      });
    }
  });
}

void DepthwiseLowering::StoreTile(const RowTile& tile, const ExprRef& block) {
  builder_.Unrolled("o", tile.outer_rows(), [&](const ExprRef& o) {
    builder_.Unrolled("i", tile.inner->rows, [&](const ExprRef& i) {
      builder_.Unrolled("v", plan_.vectors, [&](const ExprRef& v) {
        Point point;
        point.at = at_;
        if (p_.outer[1].dim >= 0) {
          point.at[static_cast<size_t>(p_.outer[1].dim)] = tile.outer_at + o;
        }
        point.at[static_cast<size_t>(p_.inner.dim)] = tile.inner_at + i;
        point.at[1] = block * plan_.width() + v * int64_t{plan_.lanes};
        point.dim = 1;
        point.lanes = plan_.lanes;
        point.active = Active(block, v);
        const ExprRef row = o * int64_t{tile.inner->rows} + i;
        fused_.StoreOutputs(point, {{p_.anchor, builder_.Get(acc_, row * plan_.vectors + v)}});
      });
    });
  });
}

}  // namespace

LoweredKernel LowerDepthwise(const graph::Workload& workload, const ContractionProblem& problem,
                             const DepthwisePlan& plan) {
  return DepthwiseLowering(workload, problem, plan).Run();
}

}  // namespace mlc::schedule
