#include "worker/calm_timing.h"

#include <algorithm>

namespace mlc::worker {
namespace {

// Between what the clock's own changes come to and half the speed.
constexpr double kCalmEnough = 0.85;
constexpr int kAttempts = 3;
// A phase of little speed lasts from some milliseconds to more than a tenth of a second.
constexpr int64_t kNapNs = 5'000'000;
constexpr int64_t kLongestWaitNs = 60'000'000;
// Lost before there are timings to compare it with.
constexpr int64_t kCreditNs = 200'000'000;

bool MayLose(const Patience& patience, int64_t ns) {
  return patience.lost_ns + ns <= patience.timed_ns + kCreditNs;
}

// How calm the machine is when the wait ends.
double WaitForCalm(const MachineWatch& watch, Patience& patience) {
  double calm = watch.calm();
  for (int64_t waited = 0; calm < kCalmEnough && waited < kLongestWaitNs; waited += kNapNs) {
    if (!MayLose(patience, kNapNs)) break;
    patience.lost_ns += kNapNs;
    watch.nap(kNapNs);
    calm = watch.calm();
  }
  return calm;
}

bool Better(const CalmTiming& a, const CalmTiming& b) {
  constexpr double kAsCalm = 0.05;
  if (a.calm > b.calm + kAsCalm) return true;
  return a.calm >= b.calm - kAsCalm && a.timing.median_ns < b.timing.median_ns;
}

}  // namespace

CalmTiming TimeCalmly(const std::function<Timing()>& time, const MachineWatch& watch,
                      Patience& patience) {
  CalmTiming best;
  int64_t taken = 0;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    CalmTiming now;
    now.calm = WaitForCalm(watch, patience);
    if (attempt > 0 && !MayLose(patience, taken)) break;
    const int64_t start = watch.now_ns();
    now.timing = time();
    taken = watch.now_ns() - start;
    now.calm = std::min(now.calm, watch.calm());
    (attempt == 0 ? patience.timed_ns : patience.lost_ns) += taken;
    if (attempt == 0 || Better(now, best)) best = now;
    if (best.calm >= kCalmEnough) break;
  }
  return best;
}

}  // namespace mlc::worker
