#include "compiler/schedule/cuda/simt/simt_plan.h"

namespace mlc::schedule {

using ir::ExprRef;
using ir::Int;

int64_t SimtPackedElements(const GpuContraction& g, const SimtPlan& plan) {
  return g.z * plan.n_tiles * plan.k_steps * plan.bk * plan.bn;
}

Preparation SimtPackPreparation(const graph::Workload& workload, const GpuContraction& g,
                                const SimtPlan& plan) {
  ir::KernelBuilder b("simt_pack");
  const graph::TensorType& type =
      workload.graph()[workload.operands()[static_cast<size_t>(g.p.column_operand)]].type;
  const int64_t elements = SimtPackedElements(g, plan);
  const ir::BufferId source = b.In("w", type.dtype, type.Extent());
  const ScaledBlocks& blocks = g.p.blocks;
  ir::BufferId scales = 0;
  if (blocks.block > 0) scales = b.In("scales", DType::kF32, blocks.along * blocks.wide);
  const ir::BufferId packed = b.Out("packed", DType::kF32, elements);
  b.Parallel("pp", g.z * plan.n_tiles * plan.k_steps, [&](const ExprRef& panel) {
    const ExprRef first_k = b.Let("first_k", ir::Mod(panel, plan.k_steps) * plan.bk);
    const ExprRef tile = ir::Mod(ir::FloorDiv(panel, plan.k_steps), plan.n_tiles);
    const ExprRef first_n = b.Let("first_n", tile * plan.bn);
    const BatchPlace batch =
        PlaceBatch(b, g, b.Let("batch", ir::FloorDiv(panel, plan.k_steps * plan.n_tiles)));
    b.For("k_in", plan.bk, [&](const ExprRef& k_in) {
      const ExprRef k = b.Let("k", first_k + k_in);
      const ExprRef k_safe = g.k % plan.bk == 0 ? k : b.Let("ks", ir::Min(k, Int(g.k - 1)));
      const ExprRef from = b.Let(
          "from", batch.column_offset + DepthOffset(g, Side::kColumn, PlaceDepth(b, g, k_safe)));
      const ExprRef to = b.Let("to", (panel * plan.bk + k_in) * plan.bn);
      b.For("n_in", plan.bn, [&](const ExprRef& n_in) {
        const ExprRef n = first_n + n_in;
        const ExprRef n_safe = g.n % plan.bn == 0 ? n : ir::Min(n, Int(g.n - 1));
        ExprRef value =
            ir::MakeCast(DType::kF32, b.Load(source, from + n_safe * g.p.column_stride));
        if (blocks.block > 0) {
          const ExprRef at = ir::FloorDiv(k_safe, blocks.block) * blocks.wide;
          const ExprRef scale = b.Load(scales, at + ir::FloorDiv(n_safe, blocks.across));
          value = ir::MakeApply(ScalarOp::kMul, {value, scale});
        }
        ExprRef inside;
        if (g.k % plan.bk != 0) inside = Less(k, g.k);
        if (g.n % plan.bn != 0) inside = And(inside, Less(n, g.n));
        if (inside) {
          value = ir::MakeApply(ScalarOp::kSelect, {inside, value, ir::Float(DType::kF32, 0)});
        }
        b.Store(packed, to + n_in, value);
      });
    });
  });
  std::vector<int> read = {g.p.column_operand};
  if (blocks.block > 0) read.push_back(blocks.columns);
  return {b.Finish(), std::move(read), DType::kF32, elements};
}

}  // namespace mlc::schedule
