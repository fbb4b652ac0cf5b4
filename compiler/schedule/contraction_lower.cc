#include "compiler/schedule/contraction_lower.h"

#include <algorithm>
#include <array>
#include <vector>

#include "compiler/schedule/contraction_pack.h"
#include "compiler/schedule/contraction_tiles.h"
#include "compiler/schedule/fused.h"
#include "compiler/schedule/register_tile.h"

namespace mlc::schedule {
namespace {

using ir::ExprRef;
using ir::Int;

constexpr int64_t kLine = 16;  // elements of a cache line

class Lowering {
 public:
  Lowering(const graph::Workload& workload, const ContractionProblem& problem,
           const ContractionPlan& plan)
      : workload_(workload),
        p_(problem),
        plan_(plan),
        builder_("contraction"),
        fused_(workload, builder_, Without()) {}

  LoweredKernel Run();

 private:
  std::vector<int> Without() const;
  bool PacksWeight() const { return plan_.pack && p_.column_is_weight; }
  void DeclareColumns();
  void EmitChunk(const ExprRef& index);
  void DecodeBatch(ExprRef rest);
  void EmitPass(const ExprRef& pass, const ExprRef& row_chunk, const ExprRef& column_chunk);
  void StageRows(const ExprRef& pass, const ExprRef& row_chunk);
  void EmitTile(const RowTile& tile, const ExprRef& panel, const ExprRef& pass);
  void StartTile(const RowTile& tile, const ExprRef& pass);
  void EmitFinish(const RowTile& tile, const ExprRef& panel, const ExprRef& pass);
  // Rows before this one, of one image.
  ExprRef RowOf(const RowTile& tile) const { return tile.outer_at * p_.inner.out + tile.inner_at; }
  ExprRef PartialAt(const ExprRef& row_outer, const ExprRef& row_inner,
                    const ExprRef& vector) const;
  void EmitTaps(const RowTile& tile, const OuterTaps& outer, const TapRun& inner,
                const ExprRef& a_base, const ExprRef& b_base, const ExprRef& steps);
  int64_t Unroll() const { return std::min<int64_t>(plan_.unroll, p_.depth); }
  int AheadLines(const RowTile& tile) const;
  void StartAhead(const RowTile& tile, const ExprRef& next_panel);
  LoopOptions Options(const RowTile& tile, const ExprRef& steps);
  void EmitEpilogue(const RowTile& tile, const ExprRef& panel);
  void StoreRows(const RowTile& tile, const ExprRef& panel, int64_t columns);
  void StoreVector(const RowTile& tile, const ExprRef& row_outer, const ExprRef& row_inner,
                   const ExprRef& panel, const ExprRef& vector, const ExprRef& active);

  const graph::Workload& workload_;
  const ContractionProblem& p_;
  const ContractionPlan& plan_;
  ir::KernelBuilder builder_;
  Fused fused_;
  ir::BufferId columns_ = 0;
  std::vector<Binding> bindings_;
  std::optional<RegisterTile> tile_;
  std::optional<RowTiles> rows_;
  ir::BufferId staged_ = 0;   // [row][pitch]
  ir::BufferId partial_ = 0;  // [panel of the chunk][row][panel width]
  // Of the current chunk.
  std::vector<ExprRef> at_;  // logical coordinates outside rows and columns
  ExprRef depth_at_;         // output of the outermost spatial axis
  ExprRef row_batch_;        // offset of the batch in the row operand
  ExprRef column_batch_;     // and in the columns as they are read
  ExprRef column_group_;     // first logical column of the group
  ExprRef row_chunk_;
  ExprRef first_panel_;
  // Of the current tile.
  ExprRef partial_at_;  // its first partial sum
  ExprRef ahead_;       // where the next panel is fetched from, at the tile's first step
};

// A weight that only the anchor reads is replaced by its packed form.
std::vector<int> Lowering::Without() const {
  if (!PacksWeight()) return {};
  const graph::ValueId id = workload_.operands()[static_cast<size_t>(p_.column_operand)];
  const bool alone = workload_.graph().Users()[static_cast<size_t>(id)].size() == 1 &&
                     std::count(workload_.outputs().begin(), workload_.outputs().end(), id) == 0;
  return alone ? std::vector<int>{p_.column_operand} : std::vector<int>{};
}

void Lowering::DeclareColumns() {
  bindings_ = fused_.bindings();
  if (!plan_.pack) {
    columns_ = fused_.OperandBuffer(p_.column_operand);
    return;
  }
  const int64_t elements = PackedElements(p_, plan_);
  if (PacksWeight()) {
    columns_ = builder_.In("packed", DType::kF32, elements);
    bindings_.push_back({Binding::Kind::kPrepared, 0});
    return;
  }
  columns_ = builder_.Shared("packed", DType::kF32, elements);
  EmitPack(p_, plan_, fused_.OperandBuffer(p_.column_operand), columns_, builder_);
}

LoweredKernel Lowering::Run() {
  DeclareColumns();
  rows_.emplace(p_, plan_.inner_rows, plan_.outer_rows, builder_);
  tile_.emplace(builder_, rows_->MaxRows(), plan_.vectors, plan_.lanes);
  if (plan_.stage) {
    staged_ = builder_.Thread("rows", DType::kF32, StagedElements(p_, plan_));
  }
  if (plan_.k_chunk > 0) {
    partial_ = builder_.Thread("partial", DType::kF32, PartialElements(p_, plan_));
  }
  builder_.Parallel("chunk", plan_.parallel_chunks(p_),
                    [&](const ExprRef& index) { EmitChunk(index); });
  LoweredKernel lowered{builder_.Finish(), bindings_, {}};
  if (PacksWeight()) lowered.preparations.push_back(PackPreparation(workload_, p_, plan_));
  return lowered;
}

void Lowering::DecodeBatch(ExprRef rest) {
  at_.assign(static_cast<size_t>(p_.rank), Int(0));
  row_batch_ = column_batch_ = column_group_ = Int(0);
  int64_t packed_stride = plan_.panels * PackedPanelElements(p_, plan_);
  for (int i = p_.batch_count - 1; i >= 0; --i) {
    const BatchAxis& axis = p_.batch[static_cast<size_t>(i)];
    const ExprRef at = builder_.Let("b", i == 0 ? rest : ir::Mod(rest, axis.extent));
    rest = ir::FloorDiv(rest, axis.extent);
    row_batch_ = row_batch_ + at * axis.row_stride;
    if (plan_.pack && axis.column_stride != 0) {
      column_batch_ = column_batch_ + at * packed_stride;
      packed_stride *= axis.extent;
    } else if (!plan_.pack) {
      column_batch_ = column_batch_ + at * axis.column_stride;
    }
    if (axis.group) {
      column_group_ = at * p_.columns;
    } else {
      at_[static_cast<size_t>(axis.dim)] = at;
    }
  }
}

void Lowering::EmitChunk(const ExprRef& index) {
  const int64_t rows = plan_.row_chunks;
  const int64_t columns = plan_.column_chunks;
  ExprRef rest = index;
  const auto take = [&](const char* name, int64_t extent) {
    const ExprRef value = builder_.Let(name, ir::Mod(rest, extent));
    rest = ir::FloorDiv(rest, extent);
    return value;
  };
  ExprRef row_chunk;
  ExprRef column_chunk;
  if (plan_.rows_first) {
    column_chunk = take("cc", columns);
    row_chunk = take("rc", rows);
  } else {
    row_chunk = take("rc", rows);
    column_chunk = take("cc", columns);
  }
  depth_at_ = take("d", p_.outer[0].out);
  DecodeBatch(rest);
  if (p_.outer[0].dim >= 0) at_[static_cast<size_t>(p_.outer[0].dim)] = depth_at_;
  builder_.For("pass", plan_.passes(p_),
               [&](const ExprRef& pass) { EmitPass(pass, row_chunk, column_chunk); });
}

void Lowering::EmitPass(const ExprRef& pass, const ExprRef& row_chunk,
                        const ExprRef& column_chunk) {
  row_chunk_ = row_chunk;
  if (plan_.stage) StageRows(pass, row_chunk);
  const int64_t rows = plan_.row_chunks;
  const int64_t columns = plan_.column_chunks;
  first_panel_ = builder_.Let("first", ir::FloorDiv(column_chunk * plan_.panels, columns));
  const ExprRef last = ir::FloorDiv((column_chunk + 1) * plan_.panels, columns);
  if (plan_.rows_first) {
    rows_->ForEach(row_chunk, rows, [&](const RowTile& tile) {
      builder_.For("panel", first_panel_, last, 1,
                   [&](const ExprRef& panel) { EmitTile(tile, panel, pass); });
    });
  } else {
    builder_.For("panel", first_panel_, last, 1, [&](const ExprRef& panel) {
      rows_->ForEach(row_chunk, rows, [&](const RowTile& tile) { EmitTile(tile, panel, pass); });
    });
  }
}

// Copies the rows of a chunk for one pass.
void Lowering::StageRows(const ExprRef& pass, const ExprRef& row_chunk) {
  const int64_t depth = plan_.pass_depth(p_);
  const int64_t whole = depth / plan_.lanes;
  const int64_t rest = depth % plan_.lanes;
  rows_->ForEach(row_chunk, plan_.row_chunks, [&](const RowTile& tile) {
    const ExprRef from = builder_.Let("from", row_batch_ + rows_->Base(tile, depth_at_) +
                                                  pass * (plan_.k_chunk * p_.row_k_stride));
    const ExprRef to = builder_.Let("to", RowOf(tile) * plan_.pitch(p_));
    const auto copy = [&](const ExprRef& o, const ExprRef& i, const ExprRef& v,
                          const ExprRef& active) {
      ExprRef value = builder_.Load(fused_.OperandBuffer(p_.row_operand),
                                    from + o * (p_.outer[1].stride * p_.outer[1].row_stride) +
                                        i * (p_.inner.stride * p_.inner.row_stride) +
                                        v * (plan_.lanes * p_.row_k_stride),
                                    plan_.lanes, p_.row_k_stride, active);
      if (p_.row_dtype != DType::kF32) value = ir::MakeCast(DType::kF32, value);
      builder_.Store(staged_, to + (o * p_.inner.out + i) * plan_.pitch(p_) + v * plan_.lanes,
                     value);
    };
    builder_.For("o", tile.outer_rows(), [&](const ExprRef& o) {
      builder_.For("i", tile.inner->rows, [&](const ExprRef& i) {
        builder_.For("v", whole, [&](const ExprRef& v) { copy(o, i, v, nullptr); });
        if (rest > 0) copy(o, i, Int(whole), Int(rest));
      });
    });
  });
}

ExprRef Lowering::PartialAt(const ExprRef& row_outer, const ExprRef& row_inner,
                            const ExprRef& vector) const {
  return partial_at_ + (row_outer * p_.inner.out + row_inner) * plan_.panel_width() +
         vector * int64_t{plan_.lanes};
}

// Sums start from zero, or from where the previous pass left them.
void Lowering::StartTile(const RowTile& tile, const ExprRef& pass) {
  if (plan_.k_chunk == 0) return tile_->Zero(tile.rows());
  builder_.If(
      ir::MakeApply(ScalarOp::kEqual, {pass, Int(0)}), [&] { tile_->Zero(tile.rows()); },
      [&] {
        builder_.Unrolled("o", tile.outer_rows(), [&](const ExprRef& o) {
          builder_.Unrolled("i", tile.inner->rows, [&](const ExprRef& i) {
            builder_.Unrolled("v", plan_.vectors, [&](const ExprRef& v) {
              tile_->Set(o * int64_t{tile.inner->rows} + i, v,
                         builder_.Load(partial_, PartialAt(o, i, v), plan_.lanes));
            });
          });
        });
      });
}

void Lowering::EmitFinish(const RowTile& tile, const ExprRef& panel, const ExprRef& pass) {
  if (plan_.k_chunk == 0) return EmitEpilogue(tile, panel);
  builder_.If(
      ir::MakeApply(ScalarOp::kEqual, {pass, Int(plan_.passes(p_) - 1)}),
      [&] { EmitEpilogue(tile, panel); },
      [&] {
        builder_.Unrolled("o", tile.outer_rows(), [&](const ExprRef& o) {
          builder_.Unrolled("i", tile.inner->rows, [&](const ExprRef& i) {
            builder_.Unrolled("v", plan_.vectors, [&](const ExprRef& v) {
              builder_.Store(partial_, PartialAt(o, i, v),
                             tile_->Get(o * int64_t{tile.inner->rows} + i, v));
            });
          });
        });
      });
}

// Lines of the next panel that an iteration of k fetches: the tile's share of it by its rows.
int Lowering::AheadLines(const RowTile& tile) const {
  const int64_t rows = (p_.outer[1].out * p_.inner.out + plan_.row_chunks - 1) / plan_.row_chunks;
  const int64_t lines = Unroll() * plan_.panel_width() / kLine * tile.rows();
  return static_cast<int>((lines + rows - 1) / rows);
}

// The part of the next panel that falls to this tile: as far into it as the tile is into the rows.
void Lowering::StartAhead(const RowTile& tile, const ExprRef& next_panel) {
  const int64_t rows = p_.outer[1].out * p_.inner.out;
  const int64_t units = p_.outer[1].dim >= 0 ? p_.outer[1].out : p_.inner.out;
  const ExprRef chunk_start = ir::FloorDiv(row_chunk_ * units, plan_.row_chunks) * (rows / units);
  const int64_t depth = p_.Taps() * plan_.pass_depth(p_);
  const ExprRef step =
      ir::FloorDiv(ir::Max(Int(0), RowOf(tile) - chunk_start) * (depth * plan_.row_chunks), rows);
  ahead_ = builder_.Let("next", next_panel + step * plan_.panel_width());
}

// Loop options of the run that starts at k step `steps` of the panel.
LoopOptions Lowering::Options(const RowTile& tile, const ExprRef& steps) {
  LoopOptions options{plan_.unroll, plan_.prefetch, 16, {}, 0};
  if (!plan_.ahead) return options;
  options.ahead_lines = AheadLines(tile);
  options.ahead = builder_.Let("ahead", ahead_ + steps * (options.ahead_lines * kLine / Unroll()));
  return options;
}

void Lowering::EmitTile(const RowTile& tile, const ExprRef& panel, const ExprRef& pass) {
  if (plan_.k_chunk > 0) {
    const ExprRef row = RowOf(tile);
    partial_at_ =
        builder_.Let("part", ((panel - first_panel_) * (p_.outer[1].out * p_.inner.out) + row) *
                                 plan_.panel_width());
  }
  StartTile(tile, pass);
  const RowAxis& depth = p_.outer[0];
  const RowAxis& height = p_.outer[1];
  const ExprRef a_base =
      builder_.Let("a", plan_.stage ? RowOf(tile) * plan_.pitch(p_)
                                    : row_batch_ + rows_->Base(tile, depth_at_) +
                                          pass * (plan_.k_chunk * p_.row_k_stride));
  const int64_t panel_stride =
      plan_.pack ? PackedPanelElements(p_, plan_) : plan_.panel_width() * p_.column_stride;
  const int64_t column_step = plan_.pack ? plan_.panel_width() : p_.column_k_stride;
  const ExprRef b_base = builder_.Let(
      "b", column_batch_ + panel * panel_stride + pass * (plan_.k_chunk * column_step));
  if (plan_.ahead) StartAhead(tile, b_base + panel_stride);
  const int64_t row_taps = p_.inner.taps * p_.depth * plan_.panel_width();
  rows_->ForOuterTaps(tile, depth_at_,
                      [&](const ExprRef& d, const ExprRef& h, const OuterTaps& outer) {
                        const ExprRef a_row = a_base + d * (depth.dilation * depth.row_stride) +
                                              h * (height.dilation * height.row_stride);
                        const ExprRef b_row = b_base + (d * height.taps + h) * row_taps;
                        const ExprRef steps = (d * height.taps + h) * (p_.inner.taps * p_.depth);
                        for (const TapRun& inner : tile.inner->runs)
                          EmitTaps(tile, outer, inner, a_row, b_row, steps);
                      });
  EmitFinish(tile, panel, pass);
}

void Lowering::EmitTaps(const RowTile& tile, const OuterTaps& outer, const TapRun& inner,
                        const ExprRef& a_base, const ExprRef& b_base, const ExprRef& steps) {
  const RowAxis& axis = p_.inner;
  const int64_t tap_stride = axis.dilation * axis.row_stride;
  const int64_t taps = inner.tap_end - inner.tap_begin;
  // Neighbouring taps whose channels follow each other in memory are one long reduction.
  const bool joined = tap_stride == p_.depth * p_.row_k_stride && p_.row_k_stride != 0;
  const RowBlock block{outer.row_begin, outer.row_end, inner.row_begin, inner.row_end,
                       tile.inner->rows};
  const int64_t width = plan_.pack ? plan_.panel_width() : p_.column_k_stride;
  const auto reduce = [&](const ExprRef& a, const ExprRef& b, const ExprRef& tap, int64_t depth) {
    RowOperand rows{fused_.OperandBuffer(p_.row_operand),
                    p_.row_dtype,
                    builder_.Let("ak", a),
                    p_.outer[1].stride * p_.outer[1].row_stride,
                    axis.stride * axis.row_stride,
                    p_.row_k_stride};
    if (plan_.stage) {
      rows = {staged_, DType::kF32, rows.base, p_.inner.out * plan_.pitch(p_), plan_.pitch(p_), 1};
    }
    const LoopOptions options = Options(tile, steps + tap * p_.depth);
    const DType dtype = plan_.pack ? DType::kF32 : p_.column_dtype;
    tile_->Loop(block, rows, {columns_, dtype, builder_.Let("bk", b), width}, depth, options);
  };
  if (joined || taps == 1) {
    reduce(a_base + inner.tap_begin * tap_stride, b_base + inner.tap_begin * p_.depth * width,
           Int(inner.tap_begin), taps * plan_.pass_depth(p_));
    return;
  }
  builder_.For("kw", Int(inner.tap_begin), Int(inner.tap_end), 1, [&](const ExprRef& tap) {
    reduce(a_base + tap * tap_stride, b_base + tap * (p_.depth * width), tap, p_.depth);
  });
}

void Lowering::EmitEpilogue(const RowTile& tile, const ExprRef& panel) {
  const int64_t width = plan_.panel_width();
  const int64_t tail = p_.columns - (plan_.panels - 1) * width;
  if (tail == width || plan_.panels == 1) {
    StoreRows(tile, panel, tail);
    return;
  }
  builder_.If(
      ir::MakeApply(ScalarOp::kLess, {panel, Int(plan_.panels - 1)}),
      [&] { StoreRows(tile, panel, width); }, [&] { StoreRows(tile, panel, tail); });
}

void Lowering::StoreRows(const RowTile& tile, const ExprRef& panel, int64_t columns) {
  const int64_t full = columns / plan_.lanes;
  const int64_t rest = columns % plan_.lanes;
  builder_.Unrolled("o", tile.outer_rows(), [&](const ExprRef& o) {
    builder_.Unrolled("i", tile.inner->rows, [&](const ExprRef& i) {
      builder_.Unrolled("v", full,
                        [&](const ExprRef& v) { StoreVector(tile, o, i, panel, v, nullptr); });
      if (rest > 0) StoreVector(tile, o, i, panel, Int(full), Int(rest));
    });
  });
}

void Lowering::StoreVector(const RowTile& tile, const ExprRef& row_outer, const ExprRef& row_inner,
                           const ExprRef& panel, const ExprRef& vector, const ExprRef& active) {
  Point point;
  point.at = at_;
  if (p_.outer[1].dim >= 0) {
    point.at[static_cast<size_t>(p_.outer[1].dim)] = tile.outer_at + row_outer;
  }
  point.at[static_cast<size_t>(p_.inner.dim)] = tile.inner_at + row_inner;
  point.at[static_cast<size_t>(p_.column_dim)] =
      column_group_ + panel * plan_.panel_width() + vector * int64_t{plan_.lanes};
  point.dim = p_.column_dim;
  point.lanes = plan_.lanes;
  point.active = active;
  const ExprRef row = row_outer * int64_t{tile.inner->rows} + row_inner;
  ExprRef value = tile_->Get(row, vector);
  if (workload_.graph()[p_.anchor].type.dims[static_cast<size_t>(p_.column_dim)] == 1) {
    // One column only: the other lanes are products with zeros.
    value = ir::MakeReduce(ScalarOp::kAdd, value);
    point.dim = -1;
    point.lanes = 1;
    point.active = nullptr;
  }
  fused_.StoreOutputs(point, {{p_.anchor, value}});
}

}  // namespace

LoweredKernel LowerContraction(const graph::Workload& workload, const ContractionProblem& problem,
                               const ContractionPlan& plan) {
  return Lowering(workload, problem, plan).Run();
}

}  // namespace mlc::schedule
