#include "compiler/schedule/cuda/skinny/skinny_contraction.h"

#include <algorithm>
#include <cmath>

#include "base/ceil_div.h"
#include "compiler/schedule/cuda/skinny/skinny_plan.h"
#include "compiler/schedule/cuda/tile/gpu_launch.h"
#include "compiler/schedule/problem/contraction_space.h"
#include "compiler/target/calibration.h"

namespace mlc::schedule {

namespace {

double BlocksPerSm(const GpuContraction& g, const target::Target& target, const SkinnyPlan& plan) {
  const double memory = std::floor(static_cast<double>(target.gpu().sm_bytes) /
                                   static_cast<double>(plan.block_bytes(g) + 1024));
  const double registers = std::floor(65536.0 / (plan.registers(g) * plan.threads()));
  return std::max(1.0, std::min({memory, registers, 2048.0 / plan.threads(), 32.0}));
}

// Of defaults whose columns pass through shared memory: warps that copy little at a time wait
// often, and a block has to have under way what arrives while another launch ends.
constexpr int kMostStagedWarps = 8, kLeastStagedColumns = 4;
constexpr int64_t kLeastStagedBytes = 96 << 10;

// A multiprocessor's only block goes through several times what it has in shared memory: it begins
// to read while the launch before ends, as it finds room beside that, and does not stop.
bool IsStream(const target::Target& target, const SkinnyPlan& plan) {
  return plan.stages > 0 && plan.turns > 1 && plan.blocks() <= target.gpu().sms &&
         plan.turns * plan.split_steps >= 3 * plan.stages;
}

// All columns of a block, with room beside it, are under way before it waits for rows that it reads
// as they are: they arrive while the launch before ends.
bool IsUnderWay(const GpuContraction& g, const target::Target& target, const SkinnyPlan& plan) {
  return g.p.norm == graph::kNoValue && plan.turns == 1 && plan.stages == plan.split_steps &&
         3 * plan.block_bytes(g) <= 2 * target.gpu().sm_bytes && plan.blocks() <= target.gpu().sms;
}

// Estimated clock cycles; only their order matters.
double Cycles(const GpuContraction& g, const target::Target& target, const SkinnyPlan& plan) {
  const target::GpuSkinnyCalibration& core = target::CalibrationOf(target.gpu()).skinny;
  const double sms = UsableSms(target, plan.k_split());
  const double blocks = static_cast<double>(plan.blocks());
  const double per_sm = std::ceil(blocks / sms);
  const double at_once = std::min(per_sm, BlocksPerSm(g, target, plan));
  const double rounds = std::ceil(per_sm / at_once);
  const double block_bytes =
      static_cast<double>(plan.turns * plan.split_steps) * 512.0 * plan.width();
  // What one multiprocessor has in flight bounds what it gets during a latency.
  const double loads = plan.stages > 0 ? plan.stages - 1 : plan.unroll;
  const double flight = at_once * plan.warps * plan.columns * loads * 512.0;
  const double bytes_per_cycle = std::min(core.bytes, flight / core.memory_latency);
  double bytes = at_once * block_bytes;
  if (IsStream(target, plan)) bytes -= flight;
  if (IsUnderWay(g, target, plan)) bytes -= core.head_start * bytes_per_cycle;
  const double memory = std::max(0.0, bytes) / bytes_per_cycle;
  const double rows = static_cast<double>(g.m);
  const double issue = at_once * block_bytes / (16.0 / plan.lanes) / 16 *
                       (1 + core.row_work * rows) * (16.0 / plan.lanes) / 128;
  const double start = core.start + rows * static_cast<double>(plan.row_elements()) /
                                        plan.threads() * core.row_start;
  double end = core.end + core.output_end * rows * plan.columns;
  // The next tile is on its way while one ends.
  if (plan.turns > 1) end += (plan.turns - 1) * end / 2;
  if (plan.split > 1) end += plan.cluster ? core.cluster_latency : core.arrive_latency;
  if (IsUnderWay(g, target, plan)) end += core.beside * blocks / sms;
  return rounds * (start + std::max(memory, issue) + end);
}

}  // namespace

SkinnyPlan MakeSkinnyPlan(const GpuContraction& g, const Config& config) {
  SkinnyPlan plan;
  const auto knob = [&](const char* name) { return static_cast<int>(config[name]); };
  plan.warps = knob("warps");
  plan.columns = knob("columns");
  plan.unroll = knob("unroll");
  plan.turns = knob("turns");
  plan.stages = knob("stages");
  const KSplit split = SplitOf(config["split"]);
  plan.split = split.parts;
  plan.cluster = split.cluster;
  plan.lanes = static_cast<int>(16 / SizeOf(g.p.column_dtype));
  plan.ends = g.p.end_count;
  plan.tiles = plan.columns % plan.ends != 0 ? 1 : CeilDiv(g.n, int64_t{plan.outputs()});
  plan.steps = CeilDiv(g.k, plan.step());
  plan.split_steps = CeilDiv(plan.steps, plan.split);
  return plan;
}

RejectReason CheckSkinnyPlan(const GpuContraction& g, const target::Target& target,
                             const SkinnyPlan& plan) {
  if (plan.columns % plan.ends != 0) return RejectReason::kRedundant;
  if (NormedRows::Registers(g, plan.threads()) > NormedRows::kMostRegisters) {
    return RejectReason::kRegisters;
  }
  if (plan.registers(g) > 232 || plan.registers(g) * plan.threads() > 65536) {
    return RejectReason::kRegisters;
  }
  if (plan.block_bytes(g) > target.gpu().block_bytes) return RejectReason::kCache;
  if (plan.unroll > 1 && plan.unroll > plan.split_steps) return RejectReason::kRedundant;
  if (plan.width() > 8 && plan.outputs() / 2 >= g.n) return RejectReason::kTileExceedsShape;
  if (plan.stages > 0) {
    // Slots follow from the step of a tile; the last stages of a tile are followed by the next's.
    if (plan.unroll > 1 || plan.stages > plan.split_steps) return RejectReason::kRedundant;
    if (plan.steps % plan.split_steps != 0) return RejectReason::kUnsupported;
    if (plan.turns > 1 && plan.split_steps % plan.stages != 0) return RejectReason::kUnsupported;
  }
  if (plan.turns > 1 && (plan.split > 1 || plan.turns > plan.tiles))
    return RejectReason::kRedundant;
  if (plan.split > 1) {
    if ((plan.split - 1) * plan.split_steps >= plan.steps) return RejectReason::kRedundant;
    if (plan.blocks() > 16 * target.gpu().sms) return RejectReason::kParallelism;
    // Clusters that wait for others to end take as long again.
    if (plan.cluster && static_cast<double>(plan.blocks()) >
                            UsableSms(target, plan.k_split()) * BlocksPerSm(g, target, plan)) {
      return RejectReason::kParallelism;
    }
  }
  return RejectReason::kNone;
}

bool SkinnyContractionFamily::Accepts(const graph::Workload& workload,
                                      const target::Target& target) const {
  if (target.As<target::GpuTarget>() == nullptr) return false;
  const std::optional<GpuContraction> g = FindGpuContractionOfAnyForm(workload);
  return g && g->m <= kMaxSkinnyRows && g->z == 1 && g->p.column_is_weight && g->p.Taps() == 1 &&
         !g->AnyChecked() && !IsDepthwise(g->p) && NormedRows::Fits(*g) &&
         // The rows of a block's part of k must fit into its memory.
         4 * g->m * (CeilDiv(g->k, 16) + 1024) <= target.gpu().block_bytes;
}

std::optional<GpuContraction> SkinnyContractionFamily::Find(const graph::Workload& workload,
                                                            const target::Target&) const {
  return FindGpuContractionOfAnyForm(workload);
}

Space SkinnyContractionFamily::MakeSpace(const graph::Workload&, const GpuContraction& g,
                                         const target::Target& target) const {
  const int64_t step = 32 * (16 / SizeOf(g.p.column_dtype));
  Space space{"skinny_contraction", version(), {}};
  space.knobs.push_back({"warps", {1, 2, 4, 8, 16}});
  space.knobs.push_back({"columns", {1, 2, 4, 8}});
  space.knobs.push_back({"unroll", UpTo({1, 2, 4, 8}, CeilDiv(g.k, step))});
  std::vector<int64_t> splits = UpTo({1, 2, 4, 8, 16}, CeilDiv(g.k, step));
  AddClusters(target, CeilDiv(g.k, step), splits);
  space.knobs.push_back({"split", splits});
  space.knobs.push_back({"turns", {1, 2, 3, 4, 6, 8}});
  space.knobs.push_back({"stages", {0, 2, 4, 8, 11, 16, 22}});
  return space;
}

RejectReason SkinnyContractionFamily::Check(const graph::Workload&, const GpuContraction& g,
                                            const target::Target& target,
                                            const Config& config) const {
  return CheckSkinnyPlan(g, target, MakeSkinnyPlan(g, config));
}

KernelFacts SkinnyContractionFamily::Facts(const graph::Workload& workload, const GpuContraction& g,
                                           const target::Target& target,
                                           const Config& config) const {
  const SkinnyPlan plan = MakeSkinnyPlan(g, config);
  KernelFacts facts;
  const double sms = UsableSms(target, plan.k_split());
  double blocks = static_cast<double>(plan.blocks());
  // What arrives while the launch before ends takes no longer on few multiprocessors.
  if (IsUnderWay(g, target, plan)) blocks = std::max(blocks, sms);
  const double packed = static_cast<double>(plan.tiles * plan.width() * plan.steps) * 512;
  const double rows = static_cast<double>(g.m);
  facts.useful_flops = workload.Flops();
  const double product = 2 * rows * packed / 16 * plan.lanes;
  facts.flops = product + std::max(0.0, facts.useful_flops - g.p.Flops());
  facts.lane_fill = g.p.Flops() / product;
  facts.accumulators = rows * plan.columns;
  facts.loads_per_fma = (plan.columns + rows * 2) / (rows * plan.columns);
  facts.inner_trip = static_cast<double>(plan.split_steps) / plan.unroll;
  facts.pipeline_steps = facts.inner_trip * plan.turns;
  facts.l1_bytes = packed / plan.columns * rows * 4;
  facts.l2_bytes = packed + blocks * rows * static_cast<double>(plan.row_elements()) * 4;
  facts.dram_bytes = workload.MinBytes();
  facts.l1_set_bytes = rows * static_cast<double>(plan.row_elements()) * 4;
  facts.l2_set_bytes = workload.MinBytes();
  CountSplit(plan.k_split(), blocks * rows * plan.width() * 4, facts);
  facts.parallel_chunks = blocks;
  facts.imbalance = std::max(1.0, std::ceil(blocks / sms) / (blocks / sms));
  facts.body_ops = rows * plan.columns * plan.unroll;
  facts.blocks = blocks;
  facts.block_threads = plan.threads();
  facts.block_bytes = static_cast<double>(plan.block_bytes(g));
  facts.registers = plan.registers(g);
  const double at_once = BlocksPerSm(g, target, plan);
  facts.waves = blocks / (sms * at_once);
  facts.warp_parallelism = std::min(at_once, blocks / sms) * plan.warps;
  return facts;
}

Config SkinnyContractionFamily::Default(const graph::Workload& workload, const GpuContraction& g,
                                        const target::Target& target) const {
  return DefaultIn(workload, g, target, MakeSpace(workload, g, target));
}

Config SkinnyContractionFamily::DefaultIn(const graph::Workload&, const GpuContraction& g,
                                          const target::Target& target, const Space& part) const {
  const auto cycles = [&](const Config& config) -> std::optional<double> {
    const SkinnyPlan plan = MakeSkinnyPlan(g, config);
    if (plan.stages > 0) {
      if (plan.warps > kMostStagedWarps || plan.columns < kLeastStagedColumns) return std::nullopt;
      if (plan.ring_bytes() < kLeastStagedBytes) return std::nullopt;
      if (!IsStream(target, plan) && !IsUnderWay(g, target, plan)) return std::nullopt;
    }
    if (plan.cluster || CheckSkinnyPlan(g, target, plan) != RejectReason::kNone)
      return std::nullopt;
    // Exact functions of wide results may take more registers than so many threads have.
    if (SizeOf(g.p.row_dtype) == 4 && plan.warps > 8) return std::nullopt;
    return Cycles(g, target, plan);
  };
  return gpu::Cheapest(part, cycles);
}

Result<LoweredKernel> SkinnyContractionFamily::Lower(const graph::Workload& workload,
                                                     const GpuContraction& g, const target::Target&,
                                                     const Config& config) const {
  return LowerSkinny(workload, g, MakeSkinnyPlan(g, config));
}

}  // namespace mlc::schedule
