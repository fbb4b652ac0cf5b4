// Time as an argument: parts that need to know it get a clock when they are made, so that a test
// moves its own clock instead of waiting. Leases and deadlines use the steady time, records are
// stamped with the other one. Clocks are thread-safe, and outlive those who use them.
#pragma once

#include <cstdint>

namespace mlc {

class Clock {
 public:
  virtual ~Clock() = default;

  // Milliseconds since a moment that is the same for the whole process; never runs backwards.
  virtual int64_t SteadyMs() const = 0;
  // Microseconds since 1970.
  virtual int64_t WallUs() const = 0;
};

// The clock of the machine.
const Clock& SystemClock();

}  // namespace mlc
