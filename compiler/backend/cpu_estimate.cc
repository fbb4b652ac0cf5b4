// The analytic model of kernels on CPUs. Its coefficients are calibration data of the target.
#include <algorithm>
#include <cmath>

#include "compiler/backend/estimate.h"
#include "compiler/target/calibration.h"

namespace mlc::backend {
namespace {

using target::AnalyticCalibration;

double PeakGflops(const target::Target& target, const AnalyticCalibration& core) {
  if (target.fma_gflops > 0) return target.fma_gflops;
  return 4.0 * target.cpu().Lanes(DType::kF32) * core.ghz * target.cpu().threads;
}

// Share of peak that the innermost body reaches with its operands in L1.
double BodyEfficiency(const schedule::KernelFacts& f, const AnalyticCalibration& core) {
  double share = core.body;
  if (f.accumulators > 0) {
    const double missing = std::max(0.0, 1 - f.accumulators / core.chains);
    share *= 1 - core.few_chains * missing * missing;
  }
  share /= 1 + core.more_loads * std::max(0.0, f.loads_per_fma - core.loads);
  if (f.inner_trip > 0) share *= f.inner_trip / (f.inner_trip + core.loop);
  return share;
}

}  // namespace

Estimate EstimateOnCpu(const schedule::KernelFacts& f, const target::Target& target) {
  const AnalyticCalibration& core = target::CalibrationOf(target.cpu()).analytic;
  const double threads = std::max(1, target.cpu().threads);
  const double busy = std::min(threads, std::max(1.0, f.parallel_chunks));
  const double peak = PeakGflops(target, core) * busy / threads;
  const double copy =
      target.copy_gbps > 0 ? target.copy_gbps : core.copy_gbps * std::min(threads, 4.0);
  Estimate e;
  e.compute_ns = (f.flops + core.special_ops * f.special_flops) / (peak * BodyEfficiency(f, core));
  e.l1_ns = f.l1_bytes / (core.l1_gbps * busy);
  e.l2_ns = f.l2_bytes / (core.l2_gbps * busy);
  e.l3_ns = f.l3_bytes / (core.l3_gbps * busy);
  const bool fits_l3 = f.dram_bytes < 0.5 * static_cast<double>(target.cpu().l3_bytes);
  e.dram_ns = fits_l3 ? 0 : f.dram_bytes / copy;
  e.overhead_ns = core.fork_ns * f.phases + core.chunk_ns * f.parallel_chunks / busy;
  const double longest = std::max(e.compute_ns, std::max(e.l1_ns, e.l2_ns));
  const double near = longest + core.near_overlap * (e.compute_ns + e.l1_ns + e.l2_ns - longest);
  const double far = std::max(e.l3_ns, e.dram_ns);
  const double own = f.scratch_bytes / (core.scratch_gbps * busy);
  const double together = std::max(near, far) + core.far_overlap * std::min(near, far) + own;
  e.total_ns = together * std::max(1.0, f.imbalance) + e.overhead_ns;
  return e;
}

}  // namespace mlc::backend
