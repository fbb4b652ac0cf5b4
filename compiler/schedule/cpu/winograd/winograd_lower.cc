#include "compiler/schedule/cpu/winograd/winograd_lower.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "compiler/schedule/cpu/contraction/contraction_segments.h"
#include "compiler/schedule/cpu/register_tile.h"
#include "compiler/schedule/cpu/winograd/winograd_transform.h"
#include "compiler/schedule/fusion/fused.h"

namespace mlc::schedule {
namespace {

using ir::ExprRef;
using ir::Int;

ExprRef Clip(const ExprRef& count, int lanes) {
  return ir::Max(Int(0), ir::Min(Int(lanes), count));
}

// Weights as [panel][frequency][channel][width]; in double, since it happens once.
Preparation FilterPreparation(const graph::Workload& workload, const ContractionProblem& p,
                              const WinogradPlan& plan) {
  ir::KernelBuilder b("winograd_filters");
  const graph::TensorType& type =
      workload.graph()[workload.operands()[static_cast<size_t>(p.column_operand)]].type;
  const int64_t elements = plan.panels * plan.frequencies() * p.depth * plan.width();
  const ir::BufferId source = b.In("w", type.dtype, type.Extent());
  const ir::BufferId packed = b.Out("packed", DType::kF32, elements);
  const WinogradMatrices& matrices = MatricesOf(plan.m);
  const ir::BufferId scratch =
      b.Registers("t", DType::kF64, plan.lanes, 3 + int64_t{matrices.size()} * 3);
  b.Parallel("panel", plan.panels, [&](const ExprRef& panel) {
    b.For("k", p.depth, [&](const ExprRef& k) {
      b.For("v", plan.vectors, [&](const ExprRef& v) {
        const ExprRef column = panel * plan.width() + v * int64_t{plan.lanes};
        const ExprRef at = b.Let("at", column * p.column_stride + k * p.column_k_stride);
        ExprRef mask;
        if (p.columns % plan.width() != 0) mask = Clip(Int(p.columns) - column, plan.lanes);
        EmitTransform(
            b, matrices.filter, scratch, DType::kF64, plan.lanes,
            [&](int i, int j) {
              return ir::MakeCast(
                  DType::kF64,
                  b.Load(source, at + (i * p.outer[1].tap_stride + j * p.inner.tap_stride),
                         plan.lanes, std::max<int64_t>(1, p.column_stride), mask));
            },
            [&](int i, int j, ExprRef value) {
              const int64_t frequency = int64_t{i} * matrices.size() + j;
              b.Store(packed,
                      (panel * plan.frequencies() + frequency) * (p.depth * plan.width()) +
                          k * plan.width() + v * int64_t{plan.lanes},
                      ir::MakeCast(DType::kF32, std::move(value)));
            });
      });
    });
  });
  return {b.Finish(), {p.column_operand}, DType::kF32, elements};
}

class WinogradLowering {
 public:
  WinogradLowering(const graph::Workload& workload, const ContractionProblem& problem,
                   const WinogradPlan& plan)
      : workload_(workload),
        p_(problem),
        plan_(plan),
        matrices_(MatricesOf(plan.m)),
        builder_("winograd"),
        fused_(workload, builder_) {}

  LoweredKernel Run();

 private:
  void EmitGroup(const ExprRef& first_tile, int tiles, const ExprRef& column_chunk);
  void TransformInputs(const ExprRef& first_tile, int tiles);
  void TransformInput(const ExprRef& tile, const ExprRef& slot, bool inside);
  void Multiply(const ExprRef& panel, int tiles);
  void TransformOutputs(const ExprRef& first_tile, int tiles, const ExprRef& panel);
  void StoreTile(const ExprRef& tile, const ExprRef& panel, const ExprRef& vector, bool inside);
  // The first output row and column of a tile.
  ExprRef RowOf(const ExprRef& tile) const {
    return ir::FloorDiv(tile, plan_.tiles_wide) * int64_t{plan_.m};
  }
  ExprRef ColumnOf(const ExprRef& tile) const {
    return ir::Mod(tile, plan_.tiles_wide) * int64_t{plan_.m};
  }

  const graph::Workload& workload_;
  const ContractionProblem& p_;
  const WinogradPlan& plan_;
  const WinogradMatrices& matrices_;
  ir::KernelBuilder builder_;
  Fused fused_;
  ir::BufferId filters_ = 0;
  ir::BufferId inputs_ = 0;    // [frequency][tile][channel]
  ir::BufferId products_ = 0;  // [frequency][tile][width]
  ir::BufferId scratch_ = 0;
  ir::BufferId results_ = 0;
  std::optional<RegisterTile> tile_;
  ExprRef image_;
  ExprRef image_offset_;
};

LoweredKernel WinogradLowering::Run() {
  std::vector<Binding> bindings = fused_.bindings();
  filters_ = builder_.In("packed", DType::kF32,
                         plan_.panels * plan_.frequencies() * p_.depth * plan_.width());
  bindings.push_back({Binding::Kind::kPrepared, 0});
  inputs_ = builder_.Thread("inputs", DType::kF32, plan_.input_elements());
  products_ = builder_.Thread("products", DType::kF32, plan_.product_elements());
  const int size = matrices_.size();
  scratch_ = builder_.Registers("t", DType::kF32, plan_.lanes, size + size * size);
  results_ = builder_.Registers("y", DType::kF32, plan_.lanes, plan_.m * plan_.m);
  tile_.emplace(builder_, plan_.rows, plan_.vectors, plan_.lanes);
  RowAxis axis;
  axis.out = axis.in = plan_.tiles();
  const std::vector<TileSegment> groups = MakeSegments(axis, static_cast<int>(plan_.group_tiles));
  builder_.Parallel(
      "chunk", p_.Batches() * plan_.groups * plan_.column_chunks, [&](const ExprRef& index) {
        const ExprRef column_chunk = builder_.Let("cc", ir::Mod(index, plan_.column_chunks));
        const ExprRef rest = builder_.Let("r", ir::FloorDiv(index, plan_.column_chunks));
        const ExprRef group = builder_.Let("g", ir::Mod(rest, plan_.groups));
        image_ = builder_.Let("n", ir::FloorDiv(rest, plan_.groups));
        image_offset_ = p_.batch_count > 0 ? image_ * p_.batch[0].row_stride : Int(0);
        for (const TileSegment& segment : groups) {
          builder_.For("s", ir::Max(group, Int(segment.begin)),
                       ir::Min(group + 1, Int(segment.end)), 1, [&](const ExprRef& g) {
                         EmitGroup(builder_.Let("first", g * segment.rows + segment.origin),
                                   segment.rows, column_chunk);
                       });
        }
      });
  LoweredKernel lowered{builder_.Finish(), std::move(bindings), {}};
  lowered.preparations.push_back(FilterPreparation(workload_, p_, plan_));
  return lowered;
}

void WinogradLowering::EmitGroup(const ExprRef& first_tile, int tiles,
                                 const ExprRef& column_chunk) {
  TransformInputs(first_tile, tiles);
  const ExprRef first = ir::FloorDiv(column_chunk * plan_.panels, plan_.column_chunks);
  const ExprRef last = ir::FloorDiv((column_chunk + 1) * plan_.panels, plan_.column_chunks);
  builder_.For("panel", first, last, 1, [&](const ExprRef& panel) {
    Multiply(panel, tiles);
    TransformOutputs(first_tile, tiles, panel);
  });
}

void WinogradLowering::TransformInputs(const ExprRef& first_tile, int tiles) {
  builder_.For("t", tiles, [&](const ExprRef& slot) {
    const ExprRef tile = builder_.Let("tile", first_tile + slot);
    const ExprRef row = builder_.Let("row", RowOf(tile) - p_.outer[1].pad);
    const ExprRef column = builder_.Let("column", ColumnOf(tile) - p_.inner.pad);
    const auto within = [&](const ExprRef& at, int64_t extent) {
      return ir::MakeApply(ScalarOp::kAnd, {ir::MakeApply(ScalarOp::kLessEqual, {Int(0), at}),
                                            ir::MakeApply(ScalarOp::kLessEqual,
                                                          {at + matrices_.size(), Int(extent)})});
    };
    builder_.If(
        ir::MakeApply(ScalarOp::kAnd, {within(row, p_.outer[1].in), within(column, p_.inner.in)}),
        [&] { TransformInput(tile, slot, true); }, [&] { TransformInput(tile, slot, false); });
  });
}

void WinogradLowering::TransformInput(const ExprRef& tile, const ExprRef& slot, bool inside) {
  const int size = matrices_.size();
  const ExprRef row = RowOf(tile) - p_.outer[1].pad;
  const ExprRef column = ColumnOf(tile) - p_.inner.pad;
  const ExprRef base = builder_.Let(
      "x", image_offset_ + row * p_.outer[1].row_stride + column * p_.inner.row_stride);
  // Lanes of a row or a column of the tile: all inside the input, none outside.
  std::vector<ExprRef> row_lanes(static_cast<size_t>(size));
  std::vector<ExprRef> column_lanes(static_cast<size_t>(size));
  const auto lanes = [&](const ExprRef& at, int64_t extent) {
    const ExprRef valid = ir::Min(at + 1, Int(extent) - at);
    return builder_.Let("edge", Clip(valid * int64_t{plan_.lanes}, plan_.lanes));
  };
  for (int i = 0; i < size && !inside; ++i) {
    row_lanes[static_cast<size_t>(i)] = lanes(row + i, p_.outer[1].in);
    column_lanes[static_cast<size_t>(i)] = lanes(column + i, p_.inner.in);
  }
  const bool channel_tail = p_.depth % plan_.lanes != 0;
  builder_.For("c", Int(0), Int(p_.depth), plan_.lanes, [&](const ExprRef& c) {
    ExprRef channels;
    if (channel_tail) channels = builder_.Let("left", ir::Min(Int(plan_.lanes), Int(p_.depth) - c));
    EmitTransform(
        builder_, matrices_.input, scratch_, DType::kF32, plan_.lanes,
        [&](int i, int j) {
          ExprRef mask = channels;
          if (!inside) {
            const ExprRef edge =
                ir::Min(row_lanes[static_cast<size_t>(i)], column_lanes[static_cast<size_t>(j)]);
            mask = mask ? ir::Min(mask, edge) : edge;
          }
          return builder_.Load(
              fused_.OperandBuffer(p_.row_operand),
              base + c * p_.row_k_stride + (i * p_.outer[1].row_stride + j * p_.inner.row_stride),
              plan_.lanes, std::max<int64_t>(1, p_.row_k_stride), mask);
        },
        [&](int i, int j, ExprRef value) {
          const int64_t frequency = int64_t{i} * size + j;
          builder_.Store(
              inputs_,
              slot * plan_.row_stride + c + frequency * (plan_.group_tiles * plan_.row_stride),
              std::move(value), 1, channels);
        });
  });
}

void WinogradLowering::Multiply(const ExprRef& panel, int tiles) {
  RowAxis axis;
  axis.out = axis.in = tiles;
  const std::vector<TileSegment> segments = MakeSegments(axis, plan_.rows);
  const int64_t depth = p_.depth;
  builder_.For("f", plan_.frequencies(), [&](const ExprRef& f) {
    const ExprRef b_base =
        builder_.Let("b", (panel * plan_.frequencies() + f) * (depth * plan_.width()));
    for (const TileSegment& segment : segments) {
      builder_.For("t", Int(segment.begin), Int(segment.end), 1, [&](const ExprRef& t) {
        const ExprRef first =
            builder_.Let("at", f * plan_.group_tiles + t * segment.rows + segment.origin);
        tile_->Zero(segment.rows);
        const RowOperand rows{
            inputs_, DType::kF32,      builder_.Let("a", first * plan_.row_stride),
            0,       plan_.row_stride, 1};
        tile_->Loop(RowBlock::Rows(segment.rows), rows,
                    {filters_, DType::kF32, b_base, plan_.width()}, depth, {plan_.unroll, 0, 0});
        const ExprRef out = builder_.Let("o", first * plan_.width());
        builder_.Unrolled("i", segment.rows, [&](const ExprRef& i) {
          builder_.Unrolled("v", plan_.vectors, [&](const ExprRef& v) {
            builder_.Store(products_, out + i * plan_.width() + v * int64_t{plan_.lanes},
                           tile_->Get(i, v));
          });
        });
      });
    }
  });
}

void WinogradLowering::TransformOutputs(const ExprRef& first_tile, int tiles,
                                        const ExprRef& panel) {
  const int64_t plane = plan_.group_tiles * plan_.width();
  builder_.For("t", tiles, [&](const ExprRef& slot) {
    const ExprRef tile = builder_.Let("tile", first_tile + slot);
    builder_.For("v", plan_.vectors, [&](const ExprRef& v) {
      const ExprRef at = builder_.Let("m", slot * plan_.width() + v * int64_t{plan_.lanes});
      EmitTransform(
          builder_, matrices_.output, scratch_, DType::kF32, plan_.lanes,
          [&](int i, int j) {
            return builder_.Load(products_, at + (int64_t{i} * matrices_.size() + j) * plane,
                                 plan_.lanes);
          },
          [&](int i, int j, ExprRef value) {
            builder_.Set(results_, Int(i * plan_.m + j), std::move(value));
          });
      const bool even = p_.outer[1].out % plan_.m == 0 && p_.inner.out % plan_.m == 0;
      if (even) {
        StoreTile(tile, panel, v, true);
        return;
      }
      const ExprRef inside = ir::MakeApply(
          ScalarOp::kAnd,
          {ir::MakeApply(ScalarOp::kLessEqual, {RowOf(tile) + plan_.m, Int(p_.outer[1].out)}),
           ir::MakeApply(ScalarOp::kLessEqual, {ColumnOf(tile) + plan_.m, Int(p_.inner.out)})});
      builder_.If(
          inside, [&] { StoreTile(tile, panel, v, true); },
          [&] { StoreTile(tile, panel, v, false); });
    });
  });
}

void WinogradLowering::StoreTile(const ExprRef& tile, const ExprRef& panel, const ExprRef& vector,
                                 bool inside) {
  const ExprRef row = builder_.Let("row", RowOf(tile));
  const ExprRef column = builder_.Let("column", ColumnOf(tile));
  const ExprRef channel = builder_.Let("oc", panel * plan_.width() + vector * int64_t{plan_.lanes});
  Point point;
  point.at.assign(static_cast<size_t>(p_.rank), Int(0));
  point.at[0] = image_;
  point.at[static_cast<size_t>(p_.column_dim)] = channel;
  point.dim = p_.column_dim;
  point.lanes = plan_.lanes;
  if (p_.columns % plan_.width() != 0) {
    point.active = builder_.Let("left", Clip(Int(p_.columns) - channel, plan_.lanes));
  }
  const auto when = [&](const ExprRef& at, int64_t extent, const std::function<void()>& body) {
    if (inside) {
      body();
    } else {
      builder_.If(ir::MakeApply(ScalarOp::kLess, {at, Int(extent)}), body);
    }
  };
  for (int i = 0; i < plan_.m; ++i) {
    when(row + i, p_.outer[1].out, [&] {
      for (int j = 0; j < plan_.m; ++j) {
        when(column + j, p_.inner.out, [&] {
          point.at[static_cast<size_t>(p_.outer[1].dim)] = row + i;
          point.at[static_cast<size_t>(p_.inner.dim)] = column + j;
          fused_.StoreOutputs(point, {{p_.anchor, builder_.Get(results_, Int(i * plan_.m + j))}});
        });
      }
    });
  }
}

}  // namespace

LoweredKernel LowerWinograd(const graph::Workload& workload, const ContractionProblem& problem,
                            const WinogradPlan& plan) {
  return WinogradLowering(workload, problem, plan).Run();
}

}  // namespace mlc::schedule
