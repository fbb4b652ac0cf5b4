#include "base/rpc/inbound_limiter.h"

#include <algorithm>
#include <utility>

namespace mlc::transport {
namespace {

// HTTP/2's and TLS's own, of a message in small pieces; and the headers of a call.
constexpr int64_t kOverhead = 8;  // a part of a message
constexpr int64_t kBytesOfCall = 1 << 10;
// Smaller requests are never delayed.
constexpr int64_t kLarge = 256 << 10;
// For as long may a large request take while others wait.
constexpr int64_t kLargeMs = 10'000;

}  // namespace

bool InboundLimiter::Waits(const Account& account) const {
  return unattributed_ > terms_.unattributed_of_all && account.unattributed > kLarge;
}

int64_t InboundLimiter::Owed(const Account& account) const {
  if (!account.authenticated) return 0;
  return account.unattributed + account.open_calls * terms_.call_cost;
}

// What it may send besides large requests.
int64_t InboundLimiter::Small(const Account& account) const {
  return std::max<int64_t>(terms_.small - Owed(account), 0);
}

int64_t InboundLimiter::AllowedBytes(Account& account, int64_t now_ms) {
  if (!account.authenticated) {
    const int64_t first = terms_.first_bytes - account.taken;
    if (first > 0) return std::min(first, first_.Held(now_ms));
    return Waits(account) ? 0 : rest_.Held(now_ms);
  }
  if (Waits(account)) return 0;
  const int64_t shared = std::max(all_.Held(now_ms), account.quiet.Held(now_ms));
  const int64_t seen = std::max(Small(account), large_.Held(now_ms));
  return std::min({account.own.Held(now_ms), shared, seen});
}

void InboundLimiter::RecordBytes(Account& account, int64_t bytes, int64_t now_ms) {
  TokenBucket& unauthenticated = account.taken < terms_.first_bytes ? first_ : rest_;
  account.taken += bytes;
  const int64_t large = std::max<int64_t>(bytes - Small(account), 0);
  Set(account, account.unattributed + bytes, now_ms);
  if (!account.authenticated) return unauthenticated.Take(bytes);
  account.own.Take(bytes);
  large_.Take(large);
  account.quiet.Take(std::min(bytes, account.quiet.Held(now_ms)));
  all_.Take(std::min(bytes, all_.Held(now_ms)));
}

void InboundLimiter::Open(Account& account, int64_t now_ms) {
  // See OpenUnauthenticated().
  if (!account.authenticated) return;
  if (account.open_calls++ == 0) account.open_calls_decayed_ms = now_ms;
  // May go far below 0: then large requests wait until every stream is paid for.
  large_.Take(terms_.call_cost);
}

void InboundLimiter::OpenUnauthenticated() {
  first_.Charge(terms_.unauthenticated_call_cost);
  rest_.Charge(terms_.unauthenticated_call_cost);
}

void InboundLimiter::Attribute(Account& account, int64_t bytes, int64_t now_ms) {
  if (!std::exchange(account.authenticated, true)) {
    first_.Return(terms_.unauthenticated_call_cost);
    rest_.Return(terms_.unauthenticated_call_cost);
  }
  if (account.open_calls > 0) {
    --account.open_calls;
    large_.Return(terms_.call_cost);
  }
  // Never in advance: a message may have been smaller on the wire.
  Set(account, account.unattributed - bytes - bytes / kOverhead - kBytesOfCall, now_ms);
}

InboundLimiter::Decision InboundLimiter::Check(Account& account, int64_t now_ms) {
  const int64_t age_ms = now_ms - account.opened_ms;
  if (account.taken == 0 && age_ms > terms_.silent_ms) return Decision::kSilent;
  if (!account.authenticated && age_ms > terms_.unauthenticated_ms)
    return Decision::kUnauthenticatedTimeout;
  Decay(account, now_ms);
  if (account.open_calls > terms_.open_calls) return Decision::kFlood;
  if (account.unattributed > terms_.unattributed) return Decision::kFlood;
  if (Waits(account) && now_ms - account.large_since_ms > kLargeMs) return Decision::kFlood;
  return Decision::kKeep;
}

void InboundLimiter::Decay(Account& account, int64_t now_ms) {
  const int64_t calls = std::min<int64_t>(now_ms - account.open_calls_decayed_ms, 3'600'000) *
                        terms_.open_calls_decay / 1000;
  if (calls > 0) {
    account.open_calls_decayed_ms = now_ms;
    account.open_calls = std::max<int64_t>(account.open_calls - calls, 0);
  }
  const int64_t bytes =
      std::min<int64_t>(now_ms - account.decayed_ms, 3'600'000) * terms_.decay_rate / 1000;
  if (bytes == 0) return;
  account.decayed_ms = now_ms;
  Set(account, account.unattributed - bytes, now_ms);
}

void InboundLimiter::Set(Account& account, int64_t unattributed, int64_t now_ms) {
  unattributed_ -= account.unattributed;
  account.unattributed = std::max<int64_t>(unattributed, 0);
  unattributed_ += account.unattributed;
  if (account.unattributed <= kLarge) {
    account.large_since_ms = -1;
  } else if (account.large_since_ms < 0) {
    account.large_since_ms = now_ms;
  }
}

}  // namespace mlc::transport
