#include "compiler/schedule/cuda/few_bits/few_bits_estimate.h"

#include <algorithm>
#include <cmath>

#include "compiler/target/calibration.h"

namespace mlc::schedule {

namespace {

using Calibration = target::GpuFewBitsCalibration;

// Until the first fragment is multiplied: all threads of a block bring or compute its rows.
double StartCycles(const Calibration& core, const GpuContraction& g, const FewBitsPlan& plan) {
  const double a_thread = static_cast<double>(plan.rows) / 8 / plan.threads();
  double start = core.start + static_cast<double>(plan.row_elements()) * a_thread * core.row_start;
  if (g.p.norm != graph::kNoValue) {
    start += core.norm_start + static_cast<double>(g.k) * a_thread * core.norm_row;
  }
  return start;
}

double EndCycles(const Calibration& core, const FewBitsPlan& plan) {
  const double sums = static_cast<double>(plan.slices * plan.rows) * plan.width();
  double end = core.end + 4 * sums / plan.threads();
  // The next tile is on its way while one ends.
  if (plan.turns > 1) end += (plan.turns - 1) * end / 2;
  if (plan.split > 1) end += plan.cluster ? core.cluster_latency : core.arrive_latency;
  return end;
}

}  // namespace

double FewBitsCycles(const GpuContraction& g, const target::Target& target,
                     const FewBitsPlan& plan) {
  const Calibration& core = target::CalibrationOf(target.gpu()).few_bits;
  const double chunk_bytes = FormOf(g).chunk_bytes();
  const double sms = UsableSms(target, plan.k_split());
  const double per_sm = std::ceil(static_cast<double>(plan.blocks()) / sms);
  const double at_once = std::min(per_sm, BlocksPerSm(target, plan));
  const double rounds = std::ceil(per_sm / at_once);
  // Warps that have one chunk more than others are waited for.
  const double steps = std::ceil(static_cast<double>(plan.split_chunks) / plan.slices);
  const double chunks = per_sm * plan.turns * steps * plan.warps;
  // What one multiprocessor has in flight bounds what it gets during a latency.
  const double flight = at_once * plan.warps * std::min<double>(plan.unroll, steps) * chunk_bytes;
  const double bytes_per_cycle = std::min(core.bytes, flight / core.memory_latency);
  // A warp waits for each group of loads, while others of the multiprocessor work.
  const double groups = plan.turns * std::ceil(steps / plan.unroll);
  const double memory =
      chunks * chunk_bytes / bytes_per_cycle + rounds * (groups - 1) * core.group_latency;
  const double fragments = static_cast<double>(plan.chunk) / 16;
  const double work =
      chunks * fragments * (core.fragment_work + core.row_work * plan.row_tiles()) / 4;
  const double latency = core.fragment_latency + core.row_latency * (plan.row_tiles() - 1);
  const double waits = rounds * plan.turns * steps * fragments * latency;
  const double ends = StartCycles(core, g, plan) + EndCycles(core, plan);
  return ends * (1 + (rounds - 1) * core.next_block) + std::max(memory, work) +
         core.overlap * std::min(memory, work) + waits;
}

}  // namespace mlc::schedule
