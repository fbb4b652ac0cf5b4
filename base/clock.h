// An injectable clock: a part that needs the time receives a clock, so that tests control the time
// instead of waiting. Leases and deadlines use the steady time; records are stamped with the wall
// time. Clocks are thread-safe, and must outlive their users.
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
