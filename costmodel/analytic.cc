#include "costmodel/analytic.h"

#include <algorithm>
#include <cmath>

#include "costmodel/analytic_cuda.h"

namespace mlc::costmodel {
namespace {

// Of a core whose peak is not calibrated: two FMA units at this clock.
constexpr double kAssumedGhz = 2.6;
constexpr double kAssumedCopyGbps = 10;  // of one core

// Bytes a nanosecond of one core, and what the other coefficients stand for, fitted to timings of
// some thousand convolution kernels on an AVX-512 core.
constexpr double kL1Gbps = 100;
constexpr double kL2Gbps = 130;
constexpr double kL3Gbps = 40;
constexpr double kScratchGbps = 55;
constexpr double kNearOverlap = 0.17;  // of the shorter ones among arithmetic, L1 and L2
constexpr double kFarOverlap = 0.27;   // of the shorter one of near and far

constexpr double kForkNs = 5000;       // one fork-join round
constexpr double kWantedChains = 9.5;  // to cover the latency of two FMA units
constexpr double kChunkNs = 60;        // one chunk of work
constexpr double kSpecialOps = 2;      // scalar-equivalent cost of a special operation's flop

double PeakGflops(const target::Target& target) {
  if (target.fma_gflops > 0) return target.fma_gflops;
  return 4.0 * target.cpu().Lanes(DType::kF32) * kAssumedGhz * target.cpu().threads;
}

// Share of peak that the innermost body reaches with its operands in L1.
double BodyEfficiency(const schedule::KernelFacts& f) {
  double share = 0.87;
  if (f.accumulators > 0) {
    const double missing = std::max(0.0, 1 - f.accumulators / kWantedChains);
    share *= 1 - 0.6 * missing * missing;
  }
  share /= 1 + 0.46 * std::max(0.0, f.loads_per_fma - 0.57);
  if (f.inner_trip > 0) share *= f.inner_trip / (f.inner_trip + 0.05);
  return share;
}

}  // namespace

Estimate EstimateKernel(const schedule::KernelFacts& f, const target::Target& target) {
  if (target.is_cuda()) return EstimateCudaKernel(f, target);
  const double threads = std::max(1, target.cpu().threads);
  const double busy = std::min(threads, std::max(1.0, f.parallel_chunks));
  const double peak = PeakGflops(target) * busy / threads;
  const double copy =
      target.copy_gbps > 0 ? target.copy_gbps : kAssumedCopyGbps * std::min(threads, 4.0);
  Estimate e;
  e.compute_ns = (f.flops + kSpecialOps * f.special_flops) / (peak * BodyEfficiency(f));
  e.l1_ns = f.l1_bytes / (kL1Gbps * busy);
  e.l2_ns = f.l2_bytes / (kL2Gbps * busy);
  e.l3_ns = f.l3_bytes / (kL3Gbps * busy);
  const bool fits_l3 = f.dram_bytes < 0.5 * static_cast<double>(target.cpu().l3_bytes);
  e.dram_ns = fits_l3 ? 0 : f.dram_bytes / copy;
  e.overhead_ns = kForkNs * f.phases + kChunkNs * f.parallel_chunks / busy;
  const double longest = std::max(e.compute_ns, std::max(e.l1_ns, e.l2_ns));
  const double near = longest + kNearOverlap * (e.compute_ns + e.l1_ns + e.l2_ns - longest);
  const double far = std::max(e.l3_ns, e.dram_ns);
  const double own = f.scratch_bytes / (kScratchGbps * busy);
  const double together = std::max(near, far) + kFarOverlap * std::min(near, far) + own;
  e.total_ns = together * std::max(1.0, f.imbalance) + e.overhead_ns;
  return e;
}

}  // namespace mlc::costmodel
