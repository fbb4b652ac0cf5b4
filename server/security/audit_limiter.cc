#include "server/security/audit_limiter.h"

#include <iterator>
#include <utility>

namespace mlc::server {
namespace {

constexpr char kOthers[] = "other callers";

}  // namespace

bool AuditLimiter::Allow(std::string_view caller, int64_t now_ms) {
  MutexLock lock(mutex_);
  Account& account = AccountOf(caller, now_ms);
  if (account.lines.Held(now_ms) == 0) {
    ++account.suppressed;
    return false;
  }
  account.lines.Take(1);
  return true;
}

AuditLimiter::Account& AuditLimiter::AccountOf(std::string_view caller, int64_t now_ms) {
  std::string name(caller);
  if (accounts_.size() >= limits_.callers && !accounts_.contains(name)) {
    // A full bucket is like none.
    for (auto account = accounts_.begin(); account != accounts_.end();) {
      const bool idle =
          account->second.suppressed == 0 && account->second.lines.Held(now_ms) == limits_.burst;
      account = idle ? accounts_.erase(account) : std::next(account);
    }
    if (accounts_.size() >= limits_.callers) name = kOthers;
  }
  return accounts_
      .try_emplace(std::move(name), Account{TokenBucket(limits_.rate, limits_.burst, now_ms)})
      .first->second;
}

std::vector<AuditLimiter::Suppressed> AuditLimiter::TakeSummary(int64_t now_ms) {
  MutexLock lock(mutex_);
  std::vector<Suppressed> summary;
  if (now_ms < next_summary_ms_) return summary;
  next_summary_ms_ = now_ms + limits_.summary_ms;
  for (auto& [caller, account] : accounts_) {
    if (account.suppressed == 0) continue;
    summary.push_back({caller, account.suppressed});
    account.suppressed = 0;
  }
  return summary;
}

}  // namespace mlc::server
