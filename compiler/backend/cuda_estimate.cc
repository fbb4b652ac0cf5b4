// The analytic model of kernels on GPUs.
#include <algorithm>
#include <cmath>

#include "compiler/backend/estimate.h"

namespace mlc::backend {
namespace {

// Rates of one multiprocessor, per nanosecond, where the target's peaks are not calibrated: a clock
// of 1.7 GHz, 128 fused multiply-adds and 1024 on matrix units (16-bit, mma.sync) a cycle.
constexpr double kAssumedFma = 435;
constexpr double kAssumedTensor = 3480;
constexpr double kAssumedCopyGbps = 2000;
// Of the calibrated matrix peak, which large products reach with other instructions.
constexpr double kTensorShare = 0.47;

constexpr double kSharedMemoryBytes = 125;  // of one multiprocessor, per nanosecond
constexpr double kL2Bytes = 100;            // into one multiprocessor, per nanosecond
constexpr double kL2TotalBytes = 13000;     // into all of them
constexpr double kWantedWarps = 0.75;       // of one multiprocessor, for half of its rate
constexpr double kStepNs = 45;              // one step of a staged loop that nothing overlaps
constexpr double kLaunchNs = 1800;
constexpr double kNextLaunchNs = 900;
constexpr double kOverlap = 0.12;  // of the shorter parts that does not hide behind the longest

}  // namespace

Estimate EstimateOnGpu(const schedule::KernelFacts& f, const target::Target& target) {
  const double sms = std::max(1, target.gpu().sms);
  const double blocks = std::max(1.0, f.blocks);
  const double active = std::min(sms, blocks);
  // Blocks of one size on one multiprocessor share it: it works as long as its share of them lasts.
  const double busy = blocks / std::ceil(blocks / sms);
  const double warps = std::max(1.0, f.warp_parallelism);
  const double issue = warps / (warps + kWantedWarps);

  const double fma = target.fma_gflops > 0 ? target.fma_gflops / sms : kAssumedFma;
  const double mma_sync = target.gpu().tensor_gflops > 0
                              ? kTensorShare * target.gpu().tensor_gflops / sms
                              : kAssumedTensor;
  const double tensor = mma_sync * f.tensor_rate;
  const double copy = target.copy_gbps > 0 ? target.copy_gbps : kAssumedCopyGbps;

  Estimate e;
  const double simt_flops = std::max(0.0, f.flops - f.tensor_flops) + f.special_flops;
  e.compute_ns = (f.tensor_flops / tensor + simt_flops / fma) / (busy * issue);
  e.l1_ns = f.l1_bytes / (kSharedMemoryBytes * busy);
  e.l2_ns = std::max(f.l2_bytes / (kL2Bytes * active), f.l2_bytes / kL2TotalBytes);
  const bool fits_l2 = f.dram_bytes < 0.5 * static_cast<double>(target.gpu().l2_bytes);
  e.dram_ns =
      f.dram_bytes / (copy * (fits_l2 ? 1.5 : 1.0) * std::min(1.0, (warps * active) / (8 * sms)));
  e.overhead_ns = kLaunchNs + kNextLaunchNs * std::max(0.0, f.phases - 1);

  // A block cannot be faster than its steps in a row; co-resident blocks overlap.
  const double rounds = std::max(1.0, std::ceil(f.waves));
  const double chain = rounds * f.pipeline_steps * kStepNs;
  const double own = f.scratch_bytes / (kL2Bytes * active);
  const double longest = std::max({e.compute_ns, e.l1_ns, e.l2_ns, e.dram_ns, chain});
  const double rest = e.compute_ns + e.l1_ns + e.l2_ns + e.dram_ns + chain - longest;
  e.total_ns = longest + kOverlap * rest + own + e.overhead_ns;
  return e;
}

}  // namespace mlc::backend
