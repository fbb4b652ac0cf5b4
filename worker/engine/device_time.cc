#include "worker/engine/device_time.h"

#include <algorithm>

namespace mlc::worker {

void DeviceTime::Note(int trials, int busy, Clock::time_point now) {
  waited_s_ += std::chrono::duration<double>(now - since_).count() * waiting_;
  since_ = now;
  waiting_ = std::max(0, std::min(devices_, trials) - busy);
}

}  // namespace mlc::worker
