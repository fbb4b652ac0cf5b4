#include "compiler/schedule/cpu/contraction/contraction_lower.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/ceil_div.h"
#include "compiler/schedule/cpu/contraction/contraction_chunk.h"
#include "compiler/schedule/cpu/contraction/contraction_pack.h"
#include "compiler/schedule/cpu/contraction/contraction_packed.h"
#include "compiler/schedule/cpu/contraction/contraction_partial.h"
#include "compiler/schedule/cpu/contraction/contraction_rows.h"
#include "compiler/schedule/cpu/contraction/contraction_store.h"
#include "compiler/schedule/cpu/contraction/contraction_tiles.h"
#include "compiler/schedule/cpu/register_tile.h"
#include "compiler/schedule/fusion/fused.h"

namespace mlc::schedule {
namespace {

using ir::ExprRef;
using ir::Int;

constexpr int64_t kLine = 16;     // elements of a cache line
constexpr int64_t kFewRows = 32;  // that fetch the next panel where a run may have few
constexpr int kChains = 8;        // sums that a tile needs to be worth a size of its own

// Whether a row of the tiles is one row of each output, and all that is in it.
bool HasRowsOfOutputs(const graph::Workload& workload, const ContractionProblem& problem) {
  const RowAxis& axis = problem.inner;
  if (problem.flattened || problem.Rows() != axis.out || problem.Batches() != 1 ||
      problem.outer[1].dim >= 0 || !axis.Trivial() || axis.out < 2) {
    return false;
  }
  return std::ranges::all_of(workload.outputs(), [&](graph::ValueId id) {
    const graph::TensorType& type = workload.graph()[id].type;
    const std::vector<int64_t> strides = type.EffectiveStrides();
    const auto dim = static_cast<size_t>(axis.dim);
    for (size_t d = 0; d < strides.size(); ++d) {
      if (d != dim && type.dims[d] > 1 && strides[d] >= strides[dim]) return false;
    }
    return type.dims[dim] == axis.out;
  });
}

// Where the row axis stands for several dimensions: its rows behind one index of the outermost one
// in memory.
int64_t PartsOfRow(const graph::Workload& workload, const ContractionProblem& problem) {
  const graph::TensorType& type = workload.graph()[workload.outputs()[0]].type;
  const std::vector<int64_t> strides = type.EffectiveStrides();
  int64_t outermost = 1, stride = 0;
  for (size_t d = 0; d < strides.size(); ++d) {
    if (type.dims[d] < 2 || strides[d] <= stride) continue;
    outermost = type.dims[d];
    stride = strides[d];
  }
  return problem.inner.out % outermost == 0 ? problem.inner.out / outermost : 1;
}

class ContractionLowering {
 public:
  ContractionLowering(const graph::Workload& workload, const ContractionProblem& problem,
                      const ContractionPlan& plan);

  // Tiles of fewer rows end a run for a part of them.
  void EndAtLimit() {
    tiles_.EndAtLimit(static_cast<int>(CeilDiv(kChains, plan_.vectors)));
    fetching_rows_ = std::min(fetching_rows_, kFewRows * plan_.row_chunks);
  }
  LoweredKernel Run();

 private:
  bool PacksWeight() const { return plan_.pack && p_.column_is_weight; }
  std::vector<int> Without() const;
  std::optional<PackedPanels> MakePacked();
  ir::BufferId DeclareRows();
  ir::BufferId DeclareColumns();
  void EmitChunk(const ExprRef& index);
  void EmitPass(const ExprRef& pass);
  void EmitProduct(const RowTile& tile, const ExprRef& panel, const ExprRef& pass);
  void EmitPackedTile(const RowTile& tile, const ExprRef& panel, const ExprRef& pass,
                      const ExprRef& a_base);
  void EmitTile(const RowTile& tile, const ExprRef& panel, const ExprRef& pass,
                const ExprRef& a_base);
  void EmitTaps(const RowTile& tile, const OuterTaps& outer, const TapRun& inner,
                const ExprRef& a_base, const ExprRef& b_base, const ExprRef& steps);
  int64_t Unroll() const { return std::min<int64_t>(plan_.unroll, p_.depth); }
  int PrefetchLines(const RowTile& tile) const;
  void LocateNextPanel(const RowTile& tile, const ExprRef& next_panel);
  LoopOptions Options(const RowTile& tile, const ExprRef& steps);

  const graph::Workload& workload_;
  const ContractionProblem& p_;
  const ContractionPlan& plan_;
  // A kernel's buffers are numbered as they are declared: by the members from here on, in order.
  ir::KernelBuilder builder_;
  Fused fused_;
  std::vector<Binding> bindings_;
  ir::BufferId row_buffer_;
  PackedBuffers packed_buffers_;
  ir::BufferId columns_;
  RowTiles tiles_;
  RegisterTile registers_;
  std::optional<PackedPanels> packed_;  // of packed columns
  ContractionRows rows_;
  PartialSums sums_;
  ContractionStore store_;
  int64_t fetching_rows_;   // of all chunks, among which the next panel is divided
  ContractionChunk chunk_;  // the current one
  ExprRef first_panel_;     // its first panel
  ExprRef next_panel_;      // what the current tile prefetches of the next panel, at its first step
};

ContractionLowering::ContractionLowering(const graph::Workload& workload,
                                         const ContractionProblem& problem,
                                         const ContractionPlan& plan)
    : workload_(workload),
      p_(problem),
      plan_(plan),
      builder_("contraction"),
      fused_(workload, builder_, Without()),
      bindings_(fused_.bindings()),
      row_buffer_(DeclareRows()),
      columns_(DeclareColumns()),
      tiles_(problem, plan.inner_rows, plan.outer_rows, builder_, false,
             problem.flattened ? PartsOfRow(workload, problem) : 1),
      registers_(builder_, tiles_.MaxRows(), plan.vectors, plan.lanes, problem.SumType()),
      packed_(MakePacked()),
      rows_(problem, plan, row_buffer_, tiles_, builder_),
      sums_(problem, plan, registers_, builder_),
      store_(workload, problem, plan, fused_, registers_, builder_),
      fetching_rows_(problem.outer[1].out * problem.inner.out) {}

// Weights that only the anchor reads are replaced by their packed form, and rows by words.
std::vector<int> ContractionLowering::Without() const {
  std::vector<int> without;
  if (p_.of_bytes && !p_.rows_by_byte) without.push_back(p_.row_operand);
  if (PacksWeight()) without.push_back(p_.column_operand);
  if (PacksWeight() && p_.IsPacked()) without.push_back(p_.packed.scales);
  if (PacksWeight() && p_.packed.zeros >= 0) without.push_back(p_.packed.zeros);
  std::erase_if(without, [&](int operand) {
    const graph::ValueId id = workload_.operands()[static_cast<size_t>(operand)];
    return workload_.graph().Users()[static_cast<size_t>(id)].size() != 1 ||
           std::count(workload_.outputs().begin(), workload_.outputs().end(), id) != 0;
  });
  return without;
}

std::optional<PackedPanels> ContractionLowering::MakePacked() {
  if (!p_.IsPacked()) return std::nullopt;
  return std::optional<PackedPanels>(std::in_place, p_, plan_, packed_buffers_, registers_,
                                     builder_);
}

// The rows as the inner loop reads them: words are a parameter of their own.
ir::BufferId ContractionLowering::DeclareRows() {
  if (!p_.of_bytes || p_.rows_by_byte) return fused_.OperandBuffer(p_.row_operand);
  const graph::ValueId id = workload_.operands()[static_cast<size_t>(p_.row_operand)];
  bindings_.push_back({Binding::Kind::kOperand, p_.row_operand});
  return builder_.In("words", DType::kI32, workload_.graph()[id].type.Extent() / 4);
}

// The columns as the inner loop reads them; a phase of its own packs those that are computed.
ir::BufferId ContractionLowering::DeclareColumns() {
  if (!plan_.pack) return fused_.OperandBuffer(p_.column_operand);
  if (p_.IsPacked()) {
    packed_buffers_ = DeclarePacked(p_, plan_, builder_, bindings_);
    return packed_buffers_.codes;
  }
  const int64_t elements = PackedElements(p_, plan_);
  if (PacksWeight()) {
    bindings_.push_back({Binding::Kind::kPrepared, 0});
    return builder_.In("packed", p_.SumType(), elements);
  }
  const ir::BufferId packed = builder_.Workspace("packed", p_.SumType(), elements);
  EmitPack(p_, plan_, fused_.OperandBuffer(p_.column_operand), packed, builder_);
  return packed;
}

LoweredKernel ContractionLowering::Run() {
  builder_.Parallel("chunk", plan_.parallel_chunks(p_),
                    [&](const ExprRef& index) { EmitChunk(index); });
  LoweredKernel lowered{builder_.Finish(), bindings_, {}, tiles_.row_loops()};
  if (p_.IsPacked()) {
    lowered.preparations = PackedPreparations(workload_, p_, plan_);
  } else if (PacksWeight()) {
    lowered.preparations.push_back(PackPreparation(workload_, p_, plan_));
  }
  return lowered;
}

void ContractionLowering::EmitChunk(const ExprRef& index) {
  chunk_ = LocateChunk(p_, plan_, index, builder_);
  builder_.For("pass", plan_.passes(p_), [&](const ExprRef& pass) { EmitPass(pass); });
}

void ContractionLowering::EmitPass(const ExprRef& pass) {
  rows_.Stage(chunk_, pass);
  const int64_t chunks = plan_.column_chunks;
  first_panel_ = builder_.Let("first", ir::FloorDiv(chunk_.column_chunk * plan_.panels, chunks));
  const ExprRef last = ir::FloorDiv((chunk_.column_chunk + 1) * plan_.panels, chunks);
  const auto for_panels = [&](const auto& body) {
    builder_.For("panel", first_panel_, last, 1, body);
  };
  const auto for_tiles = [&](const auto& body) {
    tiles_.ForEach(chunk_.row_chunk, plan_.row_chunks, body);
  };
  if (plan_.rows_first) {
    for_tiles([&](const RowTile& tile) {
      for_panels([&](const ExprRef& panel) { EmitProduct(tile, panel, pass); });
    });
  } else {
    for_panels([&](const ExprRef& panel) {
      if (plan_.decode) packed_->Decode(panel, pass);
      for_tiles([&](const RowTile& tile) { EmitProduct(tile, panel, pass); });
    });
  }
}

// Lines of the next panel that an iteration of k prefetches: the tile's share of it by its rows.
int ContractionLowering::PrefetchLines(const RowTile& tile) const {
  const int64_t rows = CeilDiv(fetching_rows_, plan_.row_chunks);
  const int64_t lines = Unroll() * plan_.panel_width() / kLine * tile.rows();
  return static_cast<int>((lines + rows - 1) / rows);
}

// The part of the next panel that falls to this tile: as far into it as the tile is into the rows.
void ContractionLowering::LocateNextPanel(const RowTile& tile, const ExprRef& next_panel) {
  const int64_t rows = p_.outer[1].out * p_.inner.out;
  const int64_t units = p_.outer[1].dim >= 0 ? p_.outer[1].out : p_.inner.out;
  const ExprRef chunk_start =
      ir::FloorDiv(chunk_.row_chunk * units, plan_.row_chunks) * (rows / units);
  const int64_t depth = p_.Taps() * plan_.pass_depth(p_);
  ExprRef step = ir::FloorDiv(
      ir::Max(Int(0), RowOf(p_, tile) - chunk_start) * (depth * plan_.row_chunks), fetching_rows_);
  if (fetching_rows_ < rows) step = ir::Min(step, Int(depth));  // later tiles have nothing to fetch
  next_panel_ = builder_.Let("next", next_panel + step * plan_.panel_width());
}

// Loop options of the run that starts at k step `steps` of the panel.
LoopOptions ContractionLowering::Options(const RowTile& tile, const ExprRef& steps) {
  LoopOptions options{plan_.unroll, plan_.prefetch, 16, {}, 0};
  if (!plan_.prefetch_panel) return options;
  options.prefetch_lines = PrefetchLines(tile);
  options.prefetch_base =
      builder_.Let("ahead", next_panel_ + steps * (options.prefetch_lines * kLine / Unroll()));
  return options;
}

void ContractionLowering::EmitProduct(const RowTile& tile, const ExprRef& panel,
                                      const ExprRef& pass) {
  sums_.Locate(tile, panel - first_panel_);
  sums_.Start(tile, pass);
  store_.Fetch(tile, chunk_, panel);
  const ExprRef a_base = builder_.Let("a", rows_.Base(tile, chunk_, pass));
  if (p_.IsPacked()) {
    EmitPackedTile(tile, panel, pass, a_base);
  } else {
    EmitTile(tile, panel, pass, a_base);
  }
  sums_.Finish(tile, pass, [&] { store_.Store(tile, chunk_, panel); });
}

// Products of matrices have one tap.
void ContractionLowering::EmitPackedTile(const RowTile& tile, const ExprRef& panel,
                                         const ExprRef& pass, const ExprRef& a_base) {
  const RowBlock block = RowBlock::Rows(tile.inner->rows);
  if (!plan_.decode) return packed_->Multiply(block, rows_.From(a_base), panel, pass);
  const ColumnOperand columns = {packed_->decoded(), DType::kF32, Int(0), plan_.panel_width()};
  registers_.Loop(block, rows_.From(a_base), columns, plan_.pass_depth(p_), {plan_.unroll});
}

void ContractionLowering::EmitTile(const RowTile& tile, const ExprRef& panel, const ExprRef& pass,
                                   const ExprRef& a_base) {
  const RowAxis& depth = p_.outer[0];
  const RowAxis& height = p_.outer[1];
  const int64_t panel_stride =
      plan_.pack ? PackedPanelElements(p_, plan_) : plan_.panel_width() * p_.column_stride;
  const int64_t column_step = plan_.pack ? plan_.panel_width() : p_.column_k_stride;
  const ExprRef b_base = builder_.Let(
      "b", chunk_.column_batch + panel * panel_stride + pass * (plan_.k_chunk * column_step));
  if (plan_.prefetch_panel) LocateNextPanel(tile, b_base + panel_stride);
  const int64_t row_taps = p_.inner.taps * p_.depth * plan_.panel_width();
  tiles_.ForOuterTaps(tile, chunk_.depth_at,
                      [&](const ExprRef& d, const ExprRef& h, const OuterTaps& outer) {
                        const ExprRef a_row = a_base + d * (depth.dilation * depth.row_stride) +
                                              h * (height.dilation * height.row_stride);
                        const ExprRef b_row = b_base + (d * height.taps + h) * row_taps;
                        const ExprRef steps = (d * height.taps + h) * (p_.inner.taps * p_.depth);
                        for (const TapRun& inner : tile.inner->runs) {
                          EmitTaps(tile, outer, inner, a_row, b_row, steps);
                        }
                      });
}

void ContractionLowering::EmitTaps(const RowTile& tile, const OuterTaps& outer, const TapRun& inner,
                                   const ExprRef& a_base, const ExprRef& b_base,
                                   const ExprRef& steps) {
  const RowAxis& axis = p_.inner;
  const int64_t tap_stride = axis.dilation * axis.row_stride;
  const int64_t taps = inner.tap_end - inner.tap_begin;
  // Neighbouring taps whose channels follow each other in memory are one long reduction.
  const bool joined = tap_stride == p_.depth * p_.row_k_stride && p_.row_k_stride != 0;
  const RowBlock block{outer.row_begin, outer.row_end, inner.row_begin, inner.row_end,
                       tile.inner->rows};
  const int64_t width = plan_.pack ? plan_.panel_width() : p_.column_k_stride;
  const auto reduce = [&](const ExprRef& a, const ExprRef& b, const ExprRef& tap, int64_t depth) {
    const RowOperand rows = rows_.From(builder_.Let("ak", a));
    const LoopOptions options = Options(tile, steps + tap * p_.depth);
    const DType dtype = plan_.pack ? p_.SumType() : p_.column_dtype;
    registers_.Loop(block, rows, {columns_, dtype, builder_.Let("bk", b), width}, depth, options);
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

}  // namespace

LoweredKernel LowerContraction(const graph::Workload& workload, const ContractionProblem& problem,
                               const ContractionPlan& plan, bool for_rows) {
  ContractionLowering lowering(workload, problem, plan);
  if (for_rows && HasRowsOfOutputs(workload, problem)) lowering.EndAtLimit();
  return lowering.Run();
}

}  // namespace mlc::schedule
