// The machine's clock, which a test lets jump ahead, so that a year of a server passes in seconds.
// Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.h"

namespace mlc::tests {

class SkippingClock : public Clock {
 public:
  // So much time has passed, for all who have this clock.
  void Skip(int64_t ms) { skipped_ms_ += ms; }

  int64_t SteadyMs() const override { return skipped_ms_ + SystemClock().SteadyMs(); }
  int64_t WallUs() const override { return 1000 * skipped_ms_ + SystemClock().WallUs(); }

 private:
  std::atomic<int64_t> skipped_ms_ = 0;
};

}  // namespace mlc::tests
