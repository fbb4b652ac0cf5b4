#include "compiler/schedule/cuda/tensor/tensor_pack.h"

#include "compiler/schedule/cuda/tensor/tensor_operand.h"

namespace mlc::schedule {

using ir::ExprRef;
using ir::Int;

namespace {

// One element: `column` and k may lie outside, which gives zero.
class Packing {
 public:
  Packing(const GpuContraction& g, const TensorPlan& plan, ir::BufferId source, ir::BufferId packed,
          ir::KernelBuilder& b)
      : g_(g), plan_(plan), source_(source), packed_(packed), b_(b) {}

  void Panel(const ExprRef& panel) {
    const ExprRef step = b_.Let("k_step", ir::Mod(panel, plan_.k_steps));
    const ExprRef tile = b_.Let("tile", ir::Mod(ir::FloorDiv(panel, plan_.k_steps), plan_.n_tiles));
    const BatchPlace batch =
        PlaceBatch(b_, g_, b_.Let("batch", ir::FloorDiv(panel, plan_.k_steps * plan_.n_tiles)));
    from_ = b_.Let("from", batch.column_offset);
    if (plan_.warpgroups) return Rows(panel, tile, step);
    const int64_t group = plan_.columns.narrow() ? 16 : 8;
    const int64_t depth = plan_.unit_depth();
    b_.For("group", plan_.bn / group, [&](const ExprRef& j) {
      b_.For("unit", plan_.bk / depth, [&](const ExprRef& u) {
        const ExprRef to = b_.Let(
            "to", panel * plan_.columns.elements + (j * (plan_.bk / depth) + u) * (group * depth));
        const ExprRef column = b_.Let("column", tile * plan_.bn + j * group);
        const ExprRef k = b_.Let("k", step * plan_.bk + u * depth);
        Unit(column, k, to);
      });
    });
  }

 private:
  // Rows of k, their 16-byte pieces swizzled as in shared memory.
  void Rows(const ExprRef& panel, const ExprRef& tile, const ExprRef& step) {
    const int64_t piece = plan_.columns.chunk();
    const int64_t rows = int64_t{plan_.bn} * plan_.columns.parts;
    unit_ = g_.p.depth % piece == 0 || g_.p.Taps() == 1;
    b_.For("row", plan_.bn, [&](const ExprRef& row) {
      b_.For("piece", plan_.bk / piece, [&](const ExprRef& p) {
        const ExprRef at = Swizzled(b_, row, p, plan_.bk / piece) * piece;
        const ExprRef to = b_.Let("to", (panel * rows + row) * int64_t{plan_.bk} + at);
        const ExprRef column = b_.Let("column", tile * plan_.bn + row);
        const ExprRef k = b_.Let("k", step * plan_.bk + p * piece);
        if (unit_) place_ = PlaceDepth(b_, g_, k);
        for (int64_t v = 0; v < piece; ++v) Element(column, k, Int(v), to + v);
      });
    });
  }

  void Unit(const ExprRef& column, const ExprRef& k, const ExprRef& to) {
    const bool narrow = plan_.columns.narrow();
    const int64_t piece = plan_.columns.chunk();
    const int64_t word = piece / 4;  // elements of k that lie together
    // All of the unit are channels of one tap.
    unit_ = g_.p.depth % plan_.unit_depth() == 0 || g_.p.Taps() == 1;
    if (unit_) place_ = PlaceDepth(b_, g_, k);
    b_.For("g", 8, [&](const ExprRef& row) {
      b_.For("t", 4, [&](const ExprRef& t) {
        const ExprRef at = to + (row * 4 + t) * piece;
        for (int64_t v = 0; v < piece; ++v) {
          if (narrow) {
            const int64_t half = v / word % 2 * (plan_.unit_depth() / 2);
            Element(column + row + v / (2 * word) * 8, k, t * word + (v % word + half), at + v);
          } else {
            Element(column + row, k, t + (v / 2 * 8 + v % 2 * 4), at + v);
          }
        }
      });
    });
  }

  void Element(const ExprRef& column, const ExprRef& k, const ExprRef& k_in, const ExprRef& to) {
    const bool ragged_k = g_.k % plan_.bk != 0;
    const bool ragged_n = g_.n % plan_.bn != 0;
    ExprRef offset;
    if (unit_) {
      DepthPlace place = place_;
      place.channel = place.channel + k_in;
      // Past the last channel: any readable place will do.
      if (ragged_k) place.channel = ir::Min(place.channel, Int(g_.p.depth - 1));
      offset = DepthOffset(g_, Side::kColumn, place);
      if (ragged_k && g_.p.Taps() > 1) offset = ir::Min(offset, Int(LastOffset()));
    } else {
      const ExprRef at = ragged_k ? ir::Min(k + k_in, Int(g_.k - 1)) : k + k_in;
      offset = DepthOffset(g_, Side::kColumn, PlaceDepth(b_, g_, b_.Let("at", at)));
    }
    const ExprRef n = ragged_n ? ir::Min(column, Int(g_.n - 1)) : column;
    ExprRef value = b_.Load(source_, from_ + n * g_.p.column_stride + offset);
    // Bytes are whole numbers of f32, too.
    if (plan_.dtype != DType::kF32) value = ir::MakeCast(DType::kF32, value);
    ExprRef inside;
    if (ragged_k) inside = Less(k + k_in, g_.k);
    if (ragged_n) inside = And(inside, Less(column, g_.n));
    if (inside) {
      value = ir::MakeApply(ScalarOp::kSelect, {inside, value, ir::Float(DType::kF32, 0)});
    }
    if (plan_.warpgroups && plan_.math == TensorMath::kTf32) {
      // Makes up for the bias of rows whose low bits the unit drops.
      const ExprRef up = ir::Float(DType::kF32, kRoundUpForTf32);
      value = ir::MakeApply(ScalarOp::kMul, {value, up});
    }
    if (plan_.columns.parts == 2) {
      const Tf32Parts parts = SplitTf32(value);
      b_.Store(packed_, to, parts.high);
      return b_.Store(packed_, to + plan_.columns.elements / 2, parts.low);
    }
    if (plan_.math == TensorMath::kTf32) value = ir::MakeApply(ScalarOp::kRoundTf32, {value});
    b_.Store(packed_, to, ir::MakeCast(g_.p.column_dtype, value));
  }

  // Of the last element along k.
  int64_t LastOffset() const {
    int64_t last = (g_.p.depth - 1) * g_.p.column_k_stride;
    for (int i = 0; i < 3; ++i) last += (g_.Axis(i).taps - 1) * g_.Axis(i).tap_stride;
    return last;
  }

  const GpuContraction& g_;
  const TensorPlan& plan_;
  ir::BufferId source_;
  ir::BufferId packed_;
  ir::KernelBuilder& b_;
  ExprRef from_;
  bool unit_ = false;  // elements that are packed together are channels of one tap
  DepthPlace place_;
};

}  // namespace

int64_t TensorPackedElements(const GpuContraction& g, const TensorPlan& plan) {
  return g.z * plan.n_tiles * plan.k_steps * plan.columns.elements;
}

Preparation TensorPackPreparation(const graph::Workload& workload, const GpuContraction& g,
                                  const TensorPlan& plan) {
  ir::KernelBuilder b("tensor_pack");
  const graph::TensorType& type =
      workload.graph()[workload.operands()[static_cast<size_t>(g.p.column_operand)]].type;
  const int64_t elements = TensorPackedElements(g, plan);
  const ir::BufferId source = b.In("w", type.dtype, type.Extent());
  const ir::BufferId packed = b.Out("packed", g.p.column_dtype, elements);
  Packing packing(g, plan, source, packed, b);
  b.Parallel("pp", g.z * plan.n_tiles * plan.k_steps,
             [&](const ExprRef& panel) { packing.Panel(panel); });
  return {b.Finish(), {g.p.column_operand}, g.p.column_dtype, elements};
}

}  // namespace mlc::schedule
