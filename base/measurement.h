// The result of one trial: workers report it, the log stores it and the search learns from it. A
// value. Times are nanoseconds of one execution of the kernel, and 0 if the outcome has no time.
#pragma once

#include <cstdint>
#include <string>

#include "base/outcome.h"

namespace mlc {

// A trial that takes longer than this factor times the best known time may end early. The search
// sends the product with each trial as early_stop_ns, so workers know the best time.
inline constexpr double kEarlyStopFactor = 1.3;

struct Measurement {
  Outcome outcome = Outcome::kInfra;
  // kOk: median of `runs` executions with warm caches. kTooSlow: the shortest execution seen before
  // the trial stopped early, a lower bound for learning and never a best.
  double median_ns = 0;
  double p10_ns = 0;
  double p90_ns = 0;
  int32_t runs = 0;
  // Median with operands evicted from the caches before each execution; 0 when not taken.
  double cold_ns = 0;
  // Largest |difference| to the reference over the largest |reference|.
  double max_error = 0;
  double build_ms = 0;
  // Clock of the measuring core while timing, from a calibrated dependent chain; 0 when unknown.
  double clock_mhz = 0;
  // Machine speed while timing, relative to the best seen by this worker (probe kernels; on a GPU
  // the clock): 1 if undisturbed, less if disturbed or throttled.
  double machine_speed = 1;
  // Compiler message, signal name or wrong element; at most 16 KiB; empty for kOk.
  std::string detail;
};

}  // namespace mlc
