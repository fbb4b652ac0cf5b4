#include "costmodel/analytic.h"

#include <algorithm>
#include <cmath>

namespace mlc::costmodel {
namespace {

// Of a core whose peak is not calibrated: two FMA units at this clock.
constexpr double kAssumedGhz = 2.6;
constexpr double kAssumedCopyGbps = 10;  // of one core

// Bytes a nanosecond of one core.
constexpr double kL1Gbps = 250;
constexpr double kL2Gbps = 90;
constexpr double kL3Gbps = 16;

constexpr double kForkNs = 1500;   // one fork-join round
constexpr double kChunkNs = 150;   // one chunk of work
constexpr double kSpecialOps = 2;  // scalar-equivalent cost of a special operation's flop

double PeakGflops(const target::Target& target) {
  if (target.fma_gflops > 0) return target.fma_gflops;
  return 4.0 * target.Lanes(DType::kF32) * kAssumedGhz * target.threads;
}

// Share of peak that the innermost body reaches with its operands in L1.
double BodyEfficiency(const schedule::KernelFacts& f, const target::Target& target) {
  double share = 0.92;
  if (f.accumulators > 0) {
    const double wanted = target.vector_registers() >= 32 ? 20 : 10;
    const double missing = std::max(0.0, 1 - f.accumulators / wanted);
    share *= 1 - 0.45 * missing * missing;
  }
  share *= 1 / (1 + 0.3 * std::max(0.0, f.loads_per_fma - 0.5));
  if (f.inner_trip > 0) share *= f.inner_trip / (f.inner_trip + 1.0);
  return share;
}

}  // namespace

Estimate EstimateKernel(const schedule::KernelFacts& f, const target::Target& target) {
  const double threads = std::max(1, target.threads);
  const double busy = std::min(threads, std::max(1.0, f.parallel_chunks));
  const double peak = PeakGflops(target) * busy / threads;
  const double copy =
      target.copy_gbps > 0 ? target.copy_gbps : kAssumedCopyGbps * std::min(threads, 4.0);
  Estimate e;
  e.compute_ns = (f.flops + kSpecialOps * f.special_flops) / (peak * BodyEfficiency(f, target));
  e.l1_ns = f.l1_bytes / (kL1Gbps * busy);
  e.l2_ns = f.l2_bytes / (kL2Gbps * busy);
  e.l3_ns = f.l3_bytes / (kL3Gbps * busy);
  const bool fits_l3 = f.dram_bytes < 0.5 * static_cast<double>(target.l3_bytes);
  e.dram_ns = fits_l3 ? 0 : f.dram_bytes / copy;
  e.overhead_ns = kForkNs * f.phases + kChunkNs * f.parallel_chunks / busy;
  const double near = std::max(e.compute_ns, std::max(e.l1_ns, e.l2_ns));
  const double far = std::max(e.l3_ns, e.dram_ns);
  // Prefetching hides a part of the shorter one.
  e.total_ns = (std::max(near, far) + 0.5 * std::min(near, far)) * std::max(1.0, f.imbalance) +
               e.overhead_ns;
  return e;
}

}  // namespace mlc::costmodel
