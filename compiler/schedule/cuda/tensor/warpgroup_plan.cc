#include "compiler/schedule/cuda/tensor/warpgroup_plan.h"

namespace mlc::schedule {

namespace {

constexpr int kStepBytes = 128;

}  // namespace

bool WarpgroupsMultiply(const GpuContraction& g) {
  TensorMath math;
  if (!TensorMathOf(g, &math) || ModeOf(g, Side::kRow) != TileMode::kAlongK) return false;
  const TileMode columns = ModeOf(g, Side::kColumn);
  // f32 is not rounded on its way to the matrix unit; packed columns compensate. Three passes split
  // columns when they are packed.
  if (columns == TileMode::kPacked) return true;
  return columns == TileMode::kAlongK && SizeOf(g.p.row_dtype) <= 2;
}

TensorPlan MakeWarpgroupPlan(const GpuContraction& g, const Config& config) {
  TensorPlan plan;
  plan.warpgroups = true;
  plan.dtype = g.p.row_dtype;
  TensorMathOf(g, &plan.math);
  const auto knob = [&](const char* name) { return static_cast<int>(config[name]); };
  plan.bm = knob("bm");
  plan.bn = knob("bn");
  plan.bk = kStepBytes / static_cast<int>(SizeOf(plan.dtype));
  plan.warps_m = 4 * knob("groups_m");
  plan.warps_n = knob("groups_n");
  plan.stages = knob("stages");
  plan.pending = knob("pending");
  plan.split = knob("split");
  plan.raster = knob("raster");
  CountSteps(g, &plan);
  return plan;
}

RejectReason CheckWarpgroupPlan(const GpuContraction& g, const target::Target& target,
                                const TensorPlan& plan) {
  if (plan.bm % (16 * plan.warps_m) != 0 || plan.bn % (8 * plan.warps_n) != 0) {
    return RejectReason::kTileExceedsShape;
  }
  // The unit takes so many columns at most; with fewer it waits for shared memory.
  const int columns = plan.warp_columns();
  if (columns > 256 || columns % 8 != 0) return RejectReason::kTileExceedsShape;
  if (columns < 64 && plan.warps_n > 1) return RejectReason::kRedundant;
  // Three passes wait for copies one step earlier, and have rows for one product in registers.
  if (plan.prefetch_distance() < (plan.splits_rows() ? 2 : 1)) return RejectReason::kRedundant;
  if (plan.splits_rows() && (plan.pending > 0 || plan.row_tiles() > 1)) {
    return RejectReason::kRedundant;
  }
  return CheckTensorTiles(g, target, plan);
}

}  // namespace mlc::schedule
