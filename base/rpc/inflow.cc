#include "base/rpc/inflow.h"

#include <algorithm>

namespace mlc::transport {
namespace {

// HTTP/2's and TLS's own, of a message in small pieces; and the headers of a call.
constexpr int64_t kOverhead = 8;  // a part of a message
constexpr int64_t kBytesOfCall = 1 << 10;
// Less is never in anybody's way.
constexpr int64_t kLarge = 256 << 10;
// For as long may a large request take while others wait.
constexpr int64_t kLargeMs = 10'000;

}  // namespace

int64_t Bucket::Held(int64_t now_ms) {
  // So long an idle time fills it, whatever its size; and the product stays in range.
  const int64_t ms = std::min<int64_t>(now_ms - at_ms_, 3'600'000);
  const int64_t more = rate_ * ms / 1000;
  if (more > 0) {
    held_ = std::min(size_, held_ + more);
    at_ms_ = now_ms;
  }
  return std::max<int64_t>(held_, 0);
}

bool Inflow::Waits(const Account& account) const {
  return unexplained_ > terms_.unexplained_of_all && account.unexplained > kLarge;
}

int64_t Inflow::MayTake(Account& account, int64_t now_ms) {
  if (!account.known) {
    const int64_t first = terms_.first_bytes - account.taken;
    if (first > 0) return std::min(first, first_.Held(now_ms));
    return Waits(account) ? 0 : rest_.Held(now_ms);
  }
  if (Waits(account)) return 0;
  const int64_t shared = std::max(all_.Held(now_ms), account.quiet.Held(now_ms));
  return std::min(account.own.Held(now_ms), shared);
}

void Inflow::Took(Account& account, int64_t bytes, int64_t now_ms) {
  Bucket& strangers = account.taken < terms_.first_bytes ? first_ : rest_;
  account.taken += bytes;
  Set(account, account.unexplained + bytes, now_ms);
  if (!account.known) return strangers.Take(bytes);
  account.own.Take(bytes);
  account.quiet.Take(std::min(bytes, account.quiet.Held(now_ms)));
  all_.Take(std::min(bytes, all_.Held(now_ms)));
}

void Inflow::Explain(Account& account, int64_t bytes, int64_t now_ms) {
  account.known = true;
  // Never in advance: a message may have been smaller on the wire.
  Set(account, account.unexplained - bytes - bytes / kOverhead - kBytesOfCall, now_ms);
}

Inflow::Verdict Inflow::Judge(Account& account, int64_t now_ms) {
  const int64_t age_ms = now_ms - account.opened_ms;
  if (account.taken == 0 && age_ms > terms_.silent_ms) return Verdict::kSilent;
  if (!account.known && age_ms > terms_.stranger_ms) return Verdict::kStranger;
  Forgive(account, now_ms);
  if (account.unexplained > terms_.unexplained) return Verdict::kFlood;
  if (Waits(account) && now_ms - account.large_since_ms > kLargeMs) return Verdict::kFlood;
  return Verdict::kKeep;
}

void Inflow::Forgive(Account& account, int64_t now_ms) {
  const int64_t bytes =
      std::min<int64_t>(now_ms - account.forgiven_ms, 3'600'000) * terms_.forgiven_rate / 1000;
  if (bytes == 0) return;
  account.forgiven_ms = now_ms;
  Set(account, account.unexplained - bytes, now_ms);
}

void Inflow::Set(Account& account, int64_t unexplained, int64_t now_ms) {
  unexplained_ -= account.unexplained;
  account.unexplained = std::max<int64_t>(unexplained, 0);
  unexplained_ += account.unexplained;
  if (account.unexplained <= kLarge) {
    account.large_since_ms = -1;
  } else if (account.large_since_ms < 0) {
    account.large_since_ms = now_ms;
  }
}

}  // namespace mlc::transport
