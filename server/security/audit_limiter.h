// Limits the audit lines that a caller can cause, so that rejected calls cannot fill a disk. Each
// caller has its own rate, so a flood of one caller does not suppress the lines about others.
// Thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "base/token_bucket.h"

namespace mlc::server {

struct AuditLimits {
  int64_t rate = 1;     // lines per caller and second
  int64_t burst = 100;  // lines per caller at once
  int64_t summary_ms = 10'000;
  size_t callers = 1'024;  // callers with a rate of their own; the others share one
};

class AuditLimiter {
 public:
  explicit AuditLimiter(const AuditLimits& limits = {}) : limits_(limits) {}

  // True if a line about this caller may be written. Otherwise the limiter counts the line.
  bool Allow(std::string_view caller, int64_t now_ms);

  struct Suppressed {
    std::string caller;
    int64_t lines;
  };
  // The lines that were suppressed since the last summary, at most one entry per caller. Empty
  // until the next summary is due.
  std::vector<Suppressed> TakeSummary(int64_t now_ms);

 private:
  struct Account {
    TokenBucket lines;
    int64_t suppressed = 0;
  };
  Account& AccountOf(std::string_view caller, int64_t now_ms) MLC_REQUIRES(mutex_);

  const AuditLimits limits_;
  Mutex mutex_;
  std::unordered_map<std::string, Account> accounts_ MLC_GUARDED_BY(mutex_);
  int64_t next_summary_ms_ MLC_GUARDED_BY(mutex_) = 0;
};

}  // namespace mlc::server
