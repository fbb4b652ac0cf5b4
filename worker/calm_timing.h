// Timings of a machine that is not ours alone. Two virtual processors may share one core of the
// host for a while, and a kernel then takes twice its time; nothing in the guest tells but how fast
// multiply-adds are just now. So that is asked before and after a timing: it waits for a calm
// machine, and is taken again if the machine was not calm throughout, for a bounded part of the
// time. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>

#include "worker/timing.h"

namespace mlc::worker {

// The world outside of the timing.
struct MachineWatch {
  std::function<int64_t()> now_ns;
  // How fast the machine is now, as a share of the best that was seen. In (0, 1].
  std::function<double()> calm;
  std::function<void(int64_t)> nap;  // nanoseconds
};

// What all timings of a runner and of those before it may lose by waiting and by repetitions:
// as much as they took otherwise.
struct Patience {
  int64_t timed_ns = 0;
  int64_t lost_ns = 0;
};

struct CalmTiming {
  Timing timing;
  double calm = 1;  // the lower one of before and after
};

// Calls `time` up to three times; returns the calmest timing, of equally calm ones the shortest.
CalmTiming TimeCalmly(const std::function<Timing()>& time, const MachineWatch& watch,
                      Patience& patience);

}  // namespace mlc::worker
