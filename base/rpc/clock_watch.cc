#include "base/rpc/clock_watch.h"

#include <algorithm>
#include <chrono>

namespace mlc::transport {
namespace {

template <typename Clock>
int64_t NowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now().time_since_epoch())
      .count();
}

}  // namespace

ClockWatch::ClockWatch()
    : ClockWatch(NowMs<std::chrono::system_clock>(), NowMs<std::chrono::steady_clock>()) {}

int64_t ClockWatch::SetBackMs() {
  return SetBackMs(NowMs<std::chrono::system_clock>(), NowMs<std::chrono::steady_clock>());
}

int64_t ClockWatch::SetBackMs(int64_t wall_ms, int64_t steady_ms) {
  const int64_t ahead_ms = wall_ms - steady_ms;
  ahead_ms_ = std::max(ahead_ms_, ahead_ms);
  const int64_t back_ms = ahead_ms_ - ahead_ms;
  return back_ms > kMostMs ? back_ms : 0;
}

}  // namespace mlc::transport
