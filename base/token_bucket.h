// A token bucket: fills with time up to its size. Times are milliseconds of a steady clock.
// Thread-compatible.
#pragma once

#include <algorithm>
#include <cstdint>

namespace mlc {

class TokenBucket {
 public:
  // `rate`: tokens a second. It starts full.
  TokenBucket(int64_t rate, int64_t size, int64_t now_ms)
      : rate_(rate), size_(size), held_(size), at_ms_(now_ms) {}

  // At least 0, even in debt.
  int64_t Held(int64_t now_ms) {
    // So long an idle time fills it, whatever its size; and the product stays in range.
    const int64_t ms = std::min<int64_t>(now_ms - at_ms_, 3'600'000);
    const int64_t more = rate_ * ms / 1000;
    if (more > 0) {
      held_ = std::min(size_, held_ + more);
      at_ms_ = now_ms;
    }
    return std::max<int64_t>(held_, 0);
  }
  // May leave it in debt.
  void Take(int64_t tokens) { held_ -= tokens; }
  // The same, but it is never longer in debt than an empty bucket takes to fill.
  void Charge(int64_t tokens) { held_ = std::max(held_ - tokens, std::min(held_, -size_)); }
  void Return(int64_t tokens) { held_ = std::min(size_, held_ + tokens); }

 private:
  int64_t rate_;
  int64_t size_;
  int64_t held_;
  int64_t at_ms_;
};

}  // namespace mlc
