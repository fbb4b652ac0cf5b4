#include "compiler/schedule/cuda/simt/simt_plan.h"

#include <algorithm>
#include <cmath>

#include "compiler/target/calibration.h"

namespace mlc::schedule {

namespace {

int64_t Ceil(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

double BlocksPerSm(const target::Target& target, const SimtPlan& plan) {
  const double memory = std::floor(static_cast<double>(target.gpu().sm_bytes) /
                                   static_cast<double>(plan.block_bytes() + 1024));
  const double threads = std::floor(2048.0 / plan.threads());
  const double registers = std::floor(65536.0 / (plan.registers() * plan.threads()));
  return std::max(1.0, std::min({memory, threads, registers, 32.0}));
}

int64_t SimtPlan::block_bytes() const {
  return std::max(2 * stage_elements() * 4, int64_t{bm} * (bn + 4) * 4);
}

SimtPlan MakeSimtPlan(const GpuContraction& g, const Config& config) {
  SimtPlan plan;
  const auto knob = [&](const char* name) { return static_cast<int>(config[name]); };
  plan.bm = knob("bm");
  plan.bn = knob("bn");
  plan.bk = knob("bk");
  plan.tm = knob("tm");
  plan.tn = knob("tn");
  const KSplit split = SplitOf(config["split"]);
  plan.split = split.parts;
  plan.cluster = split.cluster;
  plan.m_tiles = Ceil(g.m, plan.bm);
  plan.n_tiles = Ceil(g.n, plan.bn);
  plan.k_steps = Ceil(g.k, plan.bk);
  plan.split_steps = Ceil(plan.k_steps, plan.split);
  return plan;
}

RejectReason CheckSimtPlan(const GpuContraction& g, const target::Target& target,
                           const SimtPlan& plan) {
  if (plan.threads() < 32 || plan.threads() > 512 || plan.threads() % 32 != 0) {
    return RejectReason::kRegisters;
  }
  const auto covers = [](int tile, int64_t extent) { return tile / 2 >= extent && tile > 16; };
  if (covers(plan.bm, g.m) || covers(plan.bn, g.n)) return RejectReason::kTileExceedsShape;
  if (plan.registers() * plan.threads() > 65536) return RejectReason::kRegisters;
  if (plan.block_bytes() > target.gpu().block_bytes) return RejectReason::kCache;
  if (plan.split > 1) {
    if ((plan.split - 1) * plan.split_steps >= plan.k_steps) return RejectReason::kRedundant;
    const int64_t tiles = g.z * plan.m_tiles * plan.n_tiles;
    if (tiles >= 2 * target.gpu().sms || tiles * plan.split > 4 * target.gpu().sms) {
      return RejectReason::kParallelism;
    }
    // Clusters that wait for others to end take as long again.
    if (plan.cluster && static_cast<double>(plan.blocks(g)) >
                            UsableSms(target, plan.k_split()) * BlocksPerSm(target, plan)) {
      return RejectReason::kParallelism;
    }
  }
  return RejectReason::kNone;
}

double SimtCycles(const GpuContraction& g, const target::Target& target, const SimtPlan& plan) {
  const target::GpuSimtCalibration& core = target::CalibrationOf(target.gpu()).simt;
  const double sms = UsableSms(target, plan.k_split());
  const double per_sm = std::ceil(static_cast<double>(plan.blocks(g)) / sms);
  const double at_once = std::min(per_sm, BlocksPerSm(target, plan));
  const double warps = at_once * plan.threads() / 32;
  const double tile_busy = core.tile_share + plan.tm * plan.tn / core.tile;
  const double busy = std::min(1.0, warps / core.enough_warps * tile_busy);
  const double fma =
      at_once * plan.bm * plan.bn * plan.bk / (core.fma * std::max(core.least_busy, busy));
  const double reads = at_once * plan.threads() * plan.bk * ((plan.tm + 3) / 4 + plan.tn / 4.0) *
                       4 / core.shared_reads;
  const double copies = at_once * (plan.bm + plan.bn) * plan.bk *
                        (g.AnyChecked() ? core.checked_copy_work : core.copy_work) / core.copies;
  const double step = std::max(
      {fma, reads, fma * core.overlap + copies, core.step_latency + core.row_latency * plan.bk});
  double end = core.end + at_once * plan.bm * plan.bn / core.outputs;
  if (plan.cluster) {
    end += core.cluster_latency + plan.bm * plan.bn / core.merged_outputs;
  } else if (plan.split > 1) {
    end += core.arrive_latency + plan.bm * plan.bn * plan.split / core.merged_outputs;
  }
  return core.start +
         std::ceil(per_sm / at_once) * (static_cast<double>(plan.split_steps) * step + end);
}

KernelFacts SimtFacts(const graph::Workload& workload, const GpuContraction& g,
                      const target::Target& target, const SimtPlan& plan) {
  KernelFacts facts;
  const double blocks = static_cast<double>(plan.blocks(g));
  const double steps = static_cast<double>(plan.split_steps);
  const double sms = UsableSms(target, plan.k_split());
  facts.useful_flops = workload.Flops();
  const double product =
      2.0 * blocks / plan.split * plan.bm * plan.bn * static_cast<double>(plan.k_steps) * plan.bk;
  facts.flops = product + std::max(0.0, facts.useful_flops - g.p.Flops());
  facts.lane_fill = g.p.Flops() / product;
  facts.accumulators = plan.tm * plan.tn;
  facts.loads_per_fma = static_cast<double>(plan.tm + plan.tn) / (plan.tm * plan.tn);
  facts.inner_trip = steps;
  facts.pipeline_steps = steps;
  facts.l1_bytes = blocks * steps * plan.threads() * plan.bk * (plan.tm + plan.tn) * 4;
  facts.l2_bytes = blocks * steps * (plan.bm + plan.bn) * plan.bk * 4;
  facts.dram_bytes = workload.MinBytes();
  facts.l1_set_bytes = static_cast<double>(plan.stage_elements()) * 4;
  facts.l2_set_bytes = workload.MinBytes();
  CountSplit(plan.k_split(), blocks * plan.bm * plan.bn * 4, facts);
  facts.parallel_chunks = blocks;
  facts.imbalance = std::max(1.0, std::ceil(blocks / sms) / (blocks / sms));
  facts.body_ops = static_cast<double>(plan.tm) * plan.tn * plan.bk;
  facts.blocks = blocks;
  facts.block_threads = plan.threads();
  facts.block_bytes = static_cast<double>(plan.block_bytes());
  facts.registers = plan.registers();
  const double at_once = BlocksPerSm(target, plan);
  facts.waves = blocks / (sms * at_once);
  facts.warp_parallelism = std::min(at_once, blocks / sms) * plan.threads() / 32;
  return facts;
}

}  // namespace mlc::schedule
