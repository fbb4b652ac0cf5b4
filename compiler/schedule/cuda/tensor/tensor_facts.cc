#include "compiler/schedule/cuda/tensor/tensor_facts.h"

#include <algorithm>
#include <cmath>

#include "compiler/target/calibration.h"

namespace mlc::schedule {

namespace {

constexpr double kSmThreads = 2048;
constexpr double kSmRegisters = 65536;
constexpr double kSmLanes = 128;
// Of a result of one byte, alone and with a guest's.
constexpr double kByteInstructions = 9;
constexpr double kGuestInstructions = 20;
constexpr double kAloneAtEnd = 1.35;

}  // namespace

double BlocksPerSm(const target::Target& target, const TensorPlan& plan) {
  const double memory = std::floor(static_cast<double>(target.gpu().sm_bytes) /
                                   static_cast<double>(plan.block_bytes() + 1024));
  const double threads = std::floor(kSmThreads / plan.threads());
  const double registers =
      std::floor(kSmRegisters / (plan.registers() * plan.threads())) + plan.resident;
  return std::max(1.0, std::min({memory, threads, registers, 32.0}));
}

int ResidentBlocks(const GpuContraction& g, const target::Target& target, const TensorPlan& plan) {
  const int64_t sms = std::max(1, target.gpu().sms);
  const int64_t wanted = (plan.blocks(g) + (plan.resident > 0 ? sms - 1 : 0)) / sms;
  return static_cast<int>(
      std::clamp<int64_t>(wanted, 1, static_cast<int64_t>(BlocksPerSm(target, plan))));
}

namespace {

double MathPasses(const TensorPlan& plan) {
  if (plan.math == TensorMath::kFloat8 || plan.math == TensorMath::kBytes) return 0.5;
  if (plan.math == TensorMath::kHalf) return 1;
  return plan.math == TensorMath::kTf32 ? 2 : 6;
}

// Bytes of one step that a block brings to shared memory, and that its warps read from there.
double CopiedBytes(const TensorPlan& plan) {
  return static_cast<double>((plan.bm + plan.columns.parts * plan.bn) * plan.bk) * plan.rows.bytes;
}
double ReadBytes(const TensorPlan& plan) {
  if (plan.warpgroups) {
    // The unit reads 64 rows and all columns of a warpgroup at a time; in three passes, columns
    // thrice, and threads load the rows.
    const int columns = (plan.splits_rows() ? 3 : 1) * plan.warp_columns();
    return static_cast<double>((64 + columns) * plan.bk) * plan.rows.bytes * plan.row_tiles() *
           (plan.warps() / 4);
  }
  return static_cast<double>((plan.warp_rows() + plan.warp_columns()) * plan.bk) * plan.rows.bytes *
         plan.warps_m * plan.warps_n;
}

// Instructions that a warp issues for one step.
double StepInstructions(const GpuContraction& g, const TensorPlan& plan) {
  const double rows = plan.row_tiles();
  const double columns = plan.column_tiles();
  double unit = rows * columns + rows + columns / 2;
  if (plan.warpgroups) {
    unit = 2 * rows;
  } else if (plan.math == TensorMath::kTf32) {
    // Constant columns are rounded when they are packed.
    const bool rounded = plan.columns.mode == TileMode::kPacked;
    unit = 2 * rows * columns + 2 * rows + columns + 8 * rows + (rounded ? 0 : 4 * columns);
  }
  if (plan.splits_rows()) {
    // Rounding and its rest are three operations; sums apart are added up.
    unit += 2 * rows + 3 * 8 * rows + 2 * rows * columns;
  } else if (plan.math == TensorMath::kTf32x3) {
    // Rounding and its rest are three operations; sums apart begin at zero and are added up.
    unit = 6 * rows * columns + 2 * rows + columns + 3 * (8 * rows + 4 * columns);
    unit += 8 * rows * columns * plan.chains();
  }
  double copies = 0;
  for (const TensorTile* tile : {&plan.rows, &plan.columns}) {
    const bool elements = tile->mode == TileMode::kElements;
    const double parts = static_cast<double>(tile->extent * tile->bk) / (elements ? 1 : tile->run);
    double work = 3;
    if (elements) work = g.p.Taps() > 1 ? 25 : 6;
    if (!elements && tile->mode != TileMode::kPacked) work = g.AnyChecked() ? 13 : 6;
    copies += parts * work;
  }
  return 25 + plan.units() * unit + copies / plan.threads() + (g.p.Taps() > 1 ? 30 : 0);
}

// Clocks of a block's end: sums go through shared memory and results to L2.
double EndCycles(const GpuContraction& g, const target::GpuTensorCalibration& core,
                 const TensorPlan& plan) {
  const double outputs = static_cast<double>(plan.bm) * plan.bn;
  double end = outputs * 4 * ((1 + plan.slices) / core.shared_memory_bytes + 1 / core.l2_bytes);
  if (!g.results.narrow || g.results.bytes > 1) return end;
  // Fused operations scale, round and pack; and add a dequantised guest.
  const double instructions = g.results.guest ? kGuestInstructions : kByteInstructions;
  if (plan.byte_results) {
    const double moved = outputs * (plan.guest ? 2 : 1);
    end = moved * (2 / core.shared_memory_bytes + 1 / core.l2_bytes);
  } else if (g.results.guest) {
    // Threads wait for each four of its bytes.
    end += outputs / (4 * plan.threads()) * core.memory_latency;
  }
  return end + outputs * instructions / kSmLanes;
}

}  // namespace

double TensorCycles(const GpuContraction& g, const target::Target& target, const TensorPlan& plan) {
  const target::GpuTensorCalibration& core = target::CalibrationOf(target.gpu()).tensor;
  const double sms = UsableSms(target, plan.k_split());
  const double per_sm = std::ceil(static_cast<double>(plan.blocks(g)) / sms);
  const double at_once = std::min(per_sm, BlocksPerSm(target, plan));
  const double step_flops = 2.0 * plan.bm * plan.bn * plan.bk * MathPasses(plan);
  // Each quarter of a multiprocessor has a matrix unit, kept busy by a few warps.
  const double warps = at_once * plan.warps();
  const double chains = plan.warp_rows() / 16.0 * (plan.warp_columns() / 8.0);
  const double fed = plan.warpgroups ? 1 : std::min(1.0, warps / 4 * std::min(1.0, chains / 8));
  const double busy = plan.warpgroups ? 1 : fed * std::min(1.0, 0.7 + 0.1 * (warps / 4 - 1));
  const double rate = plan.warpgroups ? core.warpgroup_flops : core.mma_flops;
  const double tensor = at_once * step_flops / (rate * std::max(0.1, busy));
  const double memory = at_once * (ReadBytes(plan) + CopiedBytes(plan)) / core.shared_memory_bytes;
  const double spread = std::min(sms, static_cast<double>(plan.blocks(g))) / sms;
  const double cache = at_once * CopiedBytes(plan) / (core.l2_bytes / std::max(0.5, spread));
  const double issue = at_once * plan.warps() * StepInstructions(g, plan) / 4;
  // Warps multiply what they have loaded; warpgroups wait for copies that began `prefetch_distance`
  // steps ago.
  const double latency =
      plan.warpgroups
          ? 2 * core.step_latency + (core.memory_latency + cache) / plan.prefetch_distance()
          : core.step_latency + step_flops / (rate / 4) / plan.warps() +
                core.memory_latency / std::max(1, plan.stages - 1);
  // The longest hides most of the others.
  const double longest = std::max({tensor, memory, cache, issue, latency});
  const double rest = tensor + memory + cache + issue - std::min(longest, tensor + memory);
  const double alone = plan.warpgroups && at_once == 1 && plan.pending == 0 ? core.step_latency : 0;
  const double step = alone + longest + 0.12 * std::max(0.0, rest) + 8 * at_once;
  const double sums = static_cast<double>(plan.bm) * plan.bn * 4;
  // A block alone waits in turn for its copies, its products and its results.
  const double alone_at_end = plan.byte_results && at_once == 1 ? kAloneAtEnd : 1;
  double end = at_once * EndCycles(g, core, plan) * alone_at_end + 400;
  if (plan.cluster) {
    // Each block adds up its share of the outputs, from shared memory at the speed of a cache.
    end += core.cluster_latency + at_once * sums / core.l2_bytes;
  } else if (plan.split > 1) {
    end += core.arrive_latency + at_once * sums / core.l2_bytes + sums * plan.split / core.l2_bytes;
  }
  const double rounds = std::ceil(per_sm / at_once);
  // Elements that pass through registers fill the first stages one after the other.
  const bool fetches = plan.rows.narrow() && plan.rows.mode == TileMode::kElements;
  const double start = 1200 + (fetches ? core.memory_latency * (plan.stages - 1) : 0);
  return start + rounds * (static_cast<double>(plan.split_steps) * step + end + 300);
}

KernelFacts TensorFacts(const graph::Workload& workload, const GpuContraction& g,
                        const target::Target& target, const TensorPlan& plan) {
  KernelFacts facts;
  const target::GpuTensorCalibration& core = target::CalibrationOf(target.gpu()).tensor;
  const double blocks = static_cast<double>(plan.blocks(g));
  const double steps = static_cast<double>(plan.split_steps);
  const double sms = UsableSms(target, plan.k_split());
  facts.useful_flops = workload.Flops();
  const double tile_flops = 2.0 * plan.bm * plan.bn * static_cast<double>(plan.k_steps) * plan.bk;
  // In time of 2-byte types.
  const double passes = MathPasses(plan);
  facts.tensor_flops = blocks / plan.split * tile_flops * passes;
  if (plan.warpgroups) facts.tensor_rate = core.warpgroup_flops / core.mma_flops;
  facts.flops = facts.tensor_flops + std::max(0.0, facts.useful_flops - g.p.Flops());
  facts.lane_fill = g.p.Flops() * passes / facts.tensor_flops;
  facts.accumulators = plan.warp_rows() / 16.0 * (plan.warp_columns() / 8.0);
  facts.loads_per_fma = (plan.warp_rows() / 16.0 + plan.warp_columns() / 16.0) / facts.accumulators;
  facts.inner_trip = steps;
  facts.pipeline_steps = steps;
  facts.l1_bytes = blocks * steps * ReadBytes(plan);
  facts.l2_bytes = blocks * steps * CopiedBytes(plan);
  facts.dram_bytes = workload.MinBytes();
  facts.l1_set_bytes = static_cast<double>(plan.stage_elements()) * plan.rows.bytes;
  facts.l2_set_bytes = workload.MinBytes();
  CountSplit(plan.k_split(), blocks * plan.bm * plan.bn * 4, facts);
  facts.parallel_chunks = blocks;
  facts.imbalance = std::max(1.0, std::ceil(blocks / sms) / (blocks / sms));
  facts.body_ops = facts.accumulators * plan.units() * passes;
  facts.blocks = blocks;
  facts.block_threads = plan.threads();
  facts.block_bytes = static_cast<double>(plan.block_bytes());
  facts.registers = plan.registers();
  // Their end is most of them, and the other figures leave it out.
  if (plan.byte_results) facts.cycles = TensorCycles(g, target, plan);
  const double at_once = BlocksPerSm(target, plan);
  facts.waves = blocks / (sms * at_once);
  facts.warp_parallelism = std::min(at_once, blocks / sms) * plan.warps();
  return facts;
}

}  // namespace mlc::schedule
