// The analytic model of kernels on GPUs. Its coefficients are calibration data of the target.
#include <algorithm>
#include <cmath>

#include "compiler/backend/estimate.h"
#include "compiler/target/calibration.h"

namespace mlc::backend {

namespace {

// Clocks of a nanosecond under load.
double ClockOf(const target::GpuTarget& gpu, const target::GpuAnalyticCalibration& core) {
  if (gpu.tensor_gflops <= 0) return core.busy_ghz;
  return core.busy_clock * gpu.tensor_gflops / (std::max(1, gpu.sms) * core.cycle_flops);
}

}  // namespace

Estimate EstimateOnGpu(const schedule::KernelFacts& f, const target::Target& target) {
  const target::GpuAnalyticCalibration& core = target::CalibrationOf(target.gpu()).analytic;
  const double sms = std::max(1, target.gpu().sms);
  const double blocks = std::max(1.0, f.blocks);
  const double active = std::min(sms, blocks);
  // Blocks of one size on one multiprocessor share it: it works as long as its share of them lasts.
  const double busy = blocks / std::ceil(blocks / sms);
  const double warps = std::max(1.0, f.warp_parallelism);
  const double issue = warps / (warps + core.half_warps);

  const double fma = target.fma_gflops > 0 ? target.fma_gflops / sms : core.fma;
  const double mma_sync = target.gpu().tensor_gflops > 0
                              ? core.tensor_share * target.gpu().tensor_gflops / sms
                              : core.tensor;
  const double tensor = mma_sync * f.tensor_rate;
  const double copy = target.copy_gbps > 0 ? target.copy_gbps : core.copy_gbps;

  Estimate e;
  const double simt_flops = std::max(0.0, f.flops - f.tensor_flops) + f.special_flops;
  e.compute_ns = (f.tensor_flops / tensor + simt_flops / fma) / (busy * issue);
  e.l1_ns = f.l1_bytes / (core.shared_memory_bytes * busy);
  e.l2_ns = std::max(f.l2_bytes / (core.l2_bytes * active), f.l2_bytes / core.l2_total_bytes);
  const bool fits_l2 = f.dram_bytes < core.near_data * static_cast<double>(target.gpu().l2_bytes);
  e.dram_ns = f.dram_bytes / (copy * (fits_l2 ? core.near_speed : 1.0) *
                              std::min(1.0, (warps * active) / (core.copy_warps * sms)));
  e.overhead_ns = core.launch_ns + core.next_launch_ns * std::max(0.0, f.phases - 1);

  if (f.cycles > 0) {
    // All that multiprocessors do is in the count; what overlaps there is not added up again. Few
    // warps are enough to copy, since the copies are not their own.
    e.compute_ns = f.cycles / ClockOf(target.gpu(), core);
    e.dram_ns = f.dram_bytes / (copy * (fits_l2 ? core.near_speed : 1.0));
    e.total_ns = std::max(e.compute_ns, e.dram_ns) + e.overhead_ns;
    return e;
  }
  // A block cannot be faster than its steps in a row; co-resident blocks overlap.
  const double rounds = std::max(1.0, std::ceil(f.waves));
  const double chain = rounds * f.pipeline_steps * core.step_ns;
  const double own = f.scratch_bytes / (core.l2_bytes * active);
  const double longest = std::max({e.compute_ns, e.l1_ns, e.l2_ns, e.dram_ns, chain});
  const double rest = e.compute_ns + e.l1_ns + e.l2_ns + e.dram_ns + chain - longest;
  e.total_ns = longest + core.overlap * rest + own + e.overhead_ns;
  return e;
}

}  // namespace mlc::backend
