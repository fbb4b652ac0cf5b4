#include "compiler/schedule/cuda/attention/attention_family.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/ceil_div.h"
#include "compiler/schedule/cuda/attention/attention_plan.h"
#include "compiler/schedule/cuda/tile/gpu_launch.h"
#include "compiler/schedule/cuda/tile/gpu_split.h"
#include "compiler/target/calibration.h"

namespace mlc::schedule {

using graph::Workload;

namespace {

constexpr int64_t kMaxRegisters = 255;
constexpr int64_t kMin = 16;  // keys of the smallest step

int64_t Padded(int64_t size, int64_t step) { return CeilDiv(size, step) * step; }

gpu::AttentionPlan PlanOf(gpu::AttentionPlan plan, const Config& config) {
  plan.warps = static_cast<int>(config["warps"]);
  plan.key_warps = static_cast<int>(config["kwarps"]);
  plan.key_block = static_cast<int>(config["block"]);
  plan.chunk = config["chunk"];
  if (plan.chunk == 0) {
    plan.chunk = Padded(plan.problem.keys, int64_t{plan.key_block} * plan.key_warps);
  }
  plan.stages = static_cast<int>(config["stages"]);
  plan.split = static_cast<int>(config["split"]);
  return plan;
}

RejectReason CheckPlan(const gpu::AttentionPlan& plan, const target::Target& target,
                       const Config& config) {
  const AttentionProblem& p = plan.problem;
  const int64_t step = int64_t{plan.key_block} * plan.key_warps;
  if (plan.key_warps > plan.warps || plan.chunk % step != 0) return RejectReason::kUnsupported;
  if (plan.key_block > kMin && plan.key_block / 2 >= p.keys) {
    return RejectReason::kTileExceedsShape;
  }
  if (plan.key_warps > 1 && step / 2 >= p.keys) return RejectReason::kTileExceedsShape;
  if (plan.rows() > gpu::kQueryRows && plan.rows() / 2 >= p.queries) {
    return RejectReason::kTileExceedsShape;
  }
  if (config["chunk"] >= p.keys && config["chunk"] > kMin) return RejectReason::kRedundant;
  if (plan.chunks() % plan.split != 0) return RejectReason::kUnsupported;
  if (plan.stages > 1 && plan.block_chunks() == 1) return RejectReason::kRedundant;
  // Blocks that share keys pay where there are multiprocessors left, and the cluster fits at once.
  if (plan.split > 1 &&
      static_cast<double>(plan.blocks()) > UsableSms(target, {plan.split, true})) {
    return RejectReason::kParallelism;
  }
  if (plan.block_bytes() > target.gpu().block_bytes) return RejectReason::kCache;
  const bool least = plan.key_block == kMin && plan.warps == 1;
  if (plan.registers() > kMaxRegisters && !least) return RejectReason::kRegisters;
  if (plan.registers() * plan.threads() > 65536 && !least) return RejectReason::kRegisters;
  return RejectReason::kNone;
}

// Cycles of one block that has a multiprocessor's share to itself, and of the launch.
double CyclesOf(const gpu::AttentionPlan& plan, const target::GpuAttentionCalibration& core,
                const KernelFacts& facts) {
  const double keys = static_cast<double>(plan.block_chunks() * plan.chunk) / plan.key_warps;
  const double columns = static_cast<double>(plan.depth() + plan.slice());
  const double rate = plan.data == DType::kF32 ? core.mma_f32 / plan.passes : core.mma;
  const double products = gpu::kQueryRows * keys * columns / rate;
  const double exponentials = gpu::kQueryRows * keys / core.exponentials * core.exponential_work;
  const double held = std::max(1.0, facts.warp_parallelism / 4);
  const double bytes = static_cast<double>(plan.block_chunks() * plan.chunk) * columns *
                       SizeOf(plan.data) * std::max(1.0, facts.warp_parallelism / plan.warps);
  const double steps = keys / plan.key_block;
  const double merge =
      (plan.key_warps > 1 ? core.merge : 0) + (plan.split > 1 ? core.cluster_merge : 0);
  const double block = core.start + merge + steps * core.step_latency +
                       (products + exponentials) * held + bytes / core.l2_bytes;
  return std::max(1.0, std::ceil(facts.waves)) * block;
}

KernelFacts FactsOf(const Workload& workload, const gpu::AttentionPlan& plan,
                    const target::Target& target) {
  const AttentionProblem& p = plan.problem;
  KernelFacts facts;
  const double keys = static_cast<double>(plan.chunks() * plan.chunk);
  const double rows = static_cast<double>(CeilDiv(p.queries, plan.rows()) * plan.rows());
  const double heads = static_cast<double>(p.Heads());
  const double blocks = static_cast<double>(plan.blocks());
  const double slices = static_cast<double>(plan.slices());
  facts.useful_flops = workload.Flops();
  facts.flops = 2 * heads * rows * keys * slices * static_cast<double>(plan.depth() + plan.slice());
  facts.lane_fill = std::min(1.0, p.Flops() / facts.flops);
  facts.tensor_flops = facts.flops * (plan.data == DType::kF32 ? plan.passes : 1);
  facts.special_flops = heads * rows * keys * slices * InfoOf(ScalarOp::kExp).flops;
  facts.accumulators = static_cast<double>(plan.key_block / 8);
  facts.inner_trip = static_cast<double>(plan.depth() / plan.step());
  const double panel = keys * static_cast<double>(plan.depth() + plan.slice()) * SizeOf(plan.data);
  facts.l2_bytes = blocks / plan.split * panel;
  facts.l1_bytes = facts.l2_bytes * static_cast<double>(plan.rows() / gpu::kQueryRows);
  facts.l3_bytes = facts.dram_bytes = workload.MinBytes();
  facts.pipeline_steps = static_cast<double>(plan.block_chunks());
  const KSplit split{plan.split, plan.split > 1};
  CountSplit(split, blocks * static_cast<double>(plan.rows() * (plan.slice() + 2) * 4), facts);
  facts.body_ops = static_cast<double>(plan.key_block / 8 * (plan.depth() / plan.step() + 16));
  gpu::SetLaunch(
      target,
      {blocks, static_cast<double>(plan.threads()), static_cast<double>(plan.block_bytes()),
       static_cast<double>(std::min<int64_t>(plan.registers(), kMaxRegisters))},
      facts);
  return facts;
}

}  // namespace

bool GpuAttentionFamily::Accepts(const Workload& workload, const target::Target& target) const {
  if (target.As<target::GpuTarget>() == nullptr) return false;
  std::optional<gpu::AttentionPlan> plan = gpu::FindGpuAttention(workload);
  return plan && plan->block_bytes() <= target.gpu().block_bytes;
}

std::optional<gpu::AttentionPlan> GpuAttentionFamily::Find(const Workload& workload,
                                                           const target::Target&) const {
  return gpu::FindGpuAttention(workload);
}

Space GpuAttentionFamily::MakeSpace(const Workload&, const gpu::AttentionPlan& plan,
                                    const target::Target& target) const {
  Space space{std::string(name()), version(), {}};
  space.knobs.push_back({"warps", {1, 2, 4, 8}});
  space.knobs.push_back({"kwarps", {1, 2, 4, 8}});
  space.knobs.push_back({"block", {16, 32, 64, 128}});
  std::vector<int64_t> chunks = {0};
  for (int64_t chunk : {16, 64, 128, 256}) {
    if (chunk == kMin || chunk < plan.problem.keys) chunks.push_back(chunk);
  }
  space.knobs.push_back({"chunk", chunks});
  space.knobs.push_back(
      {"stages", chunks.size() > 2 ? std::vector<int64_t>{1, 2} : std::vector<int64_t>{1}});
  std::vector<int64_t> splits = {1};
  if (target.gpu().compute >= 90 && chunks.size() > 2) splits = {1, 2, 4, 8};
  space.knobs.push_back({"split", splits});
  return space;
}

RejectReason GpuAttentionFamily::Check(const Workload&, const gpu::AttentionPlan& problem,
                                       const target::Target& target, const Config& config) const {
  return CheckPlan(PlanOf(problem, config), target, config);
}

KernelFacts GpuAttentionFamily::Facts(const Workload& workload, const gpu::AttentionPlan& problem,
                                      const target::Target& target, const Config& config) const {
  return FactsOf(workload, PlanOf(problem, config), target);
}

Config GpuAttentionFamily::Default(const Workload& workload, const gpu::AttentionPlan& problem,
                                   const target::Target& target) const {
  const Space space = MakeSpace(workload, problem, target);
  Config best = space.At(0);
  const target::GpuAttentionCalibration& core = target::CalibrationOf(target.gpu()).attention;
  double fewest = -1;
  for (int64_t rank = 0; rank < space.NumPoints(); ++rank) {
    const Config config = space.At(rank);
    const gpu::AttentionPlan plan = PlanOf(problem, config);
    if (CheckPlan(plan, target, config) != RejectReason::kNone) continue;
    const double cycles = CyclesOf(plan, core, FactsOf(workload, plan, target));
    if (fewest >= 0 && cycles >= fewest) continue;
    fewest = cycles;
    best = config;
  }
  return best;
}

Result<LoweredKernel> GpuAttentionFamily::Lower(const Workload& workload,
                                                const gpu::AttentionPlan& problem,
                                                const target::Target&, const Config& config) const {
  return gpu::LowerGpuAttention(workload, PlanOf(problem, config));
}

}  // namespace mlc::schedule
