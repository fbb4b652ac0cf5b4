#include "compiler/schedule/cuda/image/image_facts.h"

#include <algorithm>
#include <cmath>

#include "base/ceil_div.h"
#include "compiler/schedule/cuda/tile/gpu_launch.h"
#include "compiler/target/calibration.h"

namespace mlc::schedule {

namespace {

constexpr double kProductFlops = 2.0 * 16 * 8 * 16;  // of one instruction, in time of 2-byte types

// Products of all warps of a block.
double ProductsOf(const ImageProblem& p, const ImagePlan& plan) {
  return static_cast<double>(p.Steps() * plan.rows * plan.column_tiles()) * plan.threads() / 32;
}

// Bytes that a block's warps read from shared memory. Rows of results share rows of the image.
double ReadBytes(const ImageProblem& p, const ImagePlan& plan) {
  const auto span = static_cast<double>((plan.rows - 1) * p.y.stride + p.y.taps);
  const double rows = 4.0 * 128 * std::min<double>(plan.rows, span / static_cast<double>(p.y.taps));
  const double filters = 512.0 * plan.column_tiles() / 2;
  return static_cast<double>(p.Steps()) * (rows + filters) * plan.threads() / 32;
}

double ImageTileBytes(const ImageProblem& p, const ImagePlan& plan) {
  const double share = static_cast<double>(p.batch * p.channels * p.y.in * p.x.in);
  return static_cast<double>(plan.rows_in * plan.vectors * p.pixels * p.channels) * p.image_bytes /
         share;
}

double FilterBytes(const ImageProblem& p, const ImagePlan& plan) {
  return static_cast<double>(plan.filter_elements(p)) * SizeOf(p.dtype);
}

double ResultsOf(const ImagePlan& plan) {
  return static_cast<double>(plan.th()) * plan.tw() * plan.bn;
}

}  // namespace

double ImageCycles(const ImageProblem& p, const target::Target& target, const ImagePlan& plan) {
  const target::GpuTensorCalibration& core = target::CalibrationOf(target.gpu()).tensor;
  // Instructions for the loads of a thread, for each pixel of its parts, and for its results.
  constexpr double kPart = 24, kElement = 2, kResults = 20;
  constexpr double kLatency = 3000;   // of loads and stores that nothing in the block overlaps
  constexpr double kCacheBytes = 32;  // of L2, per cycle
  constexpr double kHidden = 0.3;     // share of the shorter parts that the longest does not hide
  const double warps = plan.threads() / 32.0;
  const double per_sm =
      std::ceil(static_cast<double>(plan.blocks(p)) / std::max(1, target.gpu().sms));
  const double at_once = std::min(per_sm, double{1} * ResidentBlocks(p, target, plan));
  const double parts = static_cast<double>(plan.rows_in * plan.vectors) / 32;
  const double elements = static_cast<double>(p.pixels * p.stored);
  const double chains = plan.rows * plan.column_tiles() / 8.0;
  const double fed = std::min(1.0, at_once * warps / 4 * std::min(1.0, chains) / 2);
  const double tensor = ProductsOf(p, plan) * kProductFlops / (core.mma_flops * fed);
  const double memory =
      (ReadBytes(p, plan) + parts * 32 * elements * SizeOf(p.dtype)) / core.shared_memory_bytes;
  const double issue = (ProductsOf(p, plan) + ReadBytes(p, plan) / 160 +
                        parts * (kPart + kElement * elements) + ResultsOf(plan) / 256 * kResults) /
                       4;
  const double cache =
      (ImageTileBytes(p, plan) + FilterBytes(p, plan) + ResultsOf(plan) * SizeOf(p.dtype)) /
      kCacheBytes;
  const double longest = std::max({tensor, memory, issue, cache});
  const double body = longest + kHidden * (tensor + memory + issue + cache - longest);
  const double rounds = std::ceil(per_sm / at_once);
  return 1000 + rounds * std::max(at_once * body + kLatency / at_once, body + kLatency);
}

KernelFacts ImageFacts(const graph::Workload& workload, const ImageProblem& p,
                       const target::Target& target, const ImagePlan& plan) {
  KernelFacts facts;
  const double blocks = static_cast<double>(plan.blocks(p));
  const double taps = static_cast<double>(p.y.taps * p.x.taps * p.channels);
  const double useful = 2 * taps * static_cast<double>(p.batch * p.filters * p.y.out * p.x.out);
  facts.useful_flops = workload.Flops();
  facts.tensor_flops = blocks * ProductsOf(p, plan) * kProductFlops;
  facts.flops = facts.tensor_flops + std::max(0.0, facts.useful_flops - useful);
  facts.lane_fill = useful * (p.narrow() ? 1 : 2) / facts.tensor_flops;
  facts.accumulators = plan.rows * plan.column_tiles();
  facts.loads_per_fma = (4.0 * plan.rows + plan.column_tiles() / 2.0) / facts.accumulators;
  facts.inner_trip = facts.pipeline_steps = 1;
  facts.l1_bytes = blocks * ReadBytes(p, plan);
  facts.l2_bytes = blocks * (ImageTileBytes(p, plan) + FilterBytes(p, plan));
  facts.dram_bytes = workload.MinBytes();
  facts.l1_set_bytes = static_cast<double>(plan.block_bytes(p));
  facts.l2_set_bytes = facts.dram_bytes;
  facts.body_ops = static_cast<double>(p.Steps()) * facts.accumulators;
  gpu::SetLaunch(
      target,
      {blocks, double{1} * plan.threads(), facts.l1_set_bytes, double{1} * plan.registers()},
      facts);
  facts.cycles = ImageCycles(p, target, plan);
  return facts;
}

}  // namespace mlc::schedule
