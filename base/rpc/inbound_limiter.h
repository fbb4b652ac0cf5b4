// Limits what connections may send: bytes, rate, and bytes that belong to no call. HTTP/2 lets a
// client send much that a server must read and answer before authentication, and gRPC reads all of
// it. So connections without an admitted call (unauthenticated) are read slowly, and the bytes of
// every connection must belong to calls. Each stream that a client opens costs gRPC far more than
// its bytes do, even if it is reset at once: such calls without a message are limited, too.
// Pure; times are milliseconds of a steady clock. Thread-compatible.
#pragma once

#include <cstdint>

#include "base/token_bucket.h"

namespace mlc::transport {

struct InboundLimits {
  // Deadline for the first admitted call with its whole message.
  int64_t unauthenticated_ms = 30'000;
  int64_t silent_ms = 5'000;  // until the first byte
  // Of all unauthenticated connections a second: the first bytes of each, since new clients
  // need about 4 KiB; and the rest: a large first request, or a flood. Little at once: 28 bytes can
  // be a call, of which gRPC tells after it has read them.
  int64_t first_bytes = 6 << 10;
  int64_t first_rate = 512 << 10;
  int64_t first_burst = 128 << 10;
  int64_t rest_rate = 512 << 10;
  int64_t rest_burst = 2 << 20;
  int64_t unauthenticated_call_cost = 1 << 10;  // of both, until its message has come
  // Of one authenticated connection, and of all of them.
  int64_t one_rate = 4 << 20;
  int64_t one_burst = 4 << 20;
  int64_t all_rate = 16 << 20;
  int64_t all_burst = 32 << 20;
  // A connection that sends less than this a second is not limited by the shared rate.
  int64_t quiet = 64 << 10;
  // Bytes that belong to no admitted call yet: a request of 16 MiB that is arriving, and some more.
  int64_t unattributed = 20 << 20;
  int64_t unattributed_of_all = 192 << 20;
  int64_t decay_rate = 4 << 10;  // pings, window updates
  // An authenticated connection may owe so much; the bytes beyond are large requests, or streams
  // that gRPC has not reported yet. They share a rate, which calls without a message use up.
  int64_t small = 8 << 10;
  int64_t large_rate = 8 << 20;
  int64_t large_burst = 128 << 10;
  int64_t call_cost = 4 << 10;   // bytes, until its message has come
  int64_t open_calls = 1'024;    // of one connection, without a message: more are a flood
  int64_t open_calls_decay = 4;  // a second: calls that were cancelled or refused
};

class InboundLimiter {
 public:
  // Of one connection.
  struct Account {
    Account(const InboundLimits& terms, bool authenticated, int64_t now_ms)
        : authenticated(authenticated),
          opened_ms(now_ms),
          decayed_ms(now_ms),
          open_calls_decayed_ms(now_ms),
          own(terms.one_rate, terms.one_burst, now_ms),
          quiet(terms.quiet, terms.quiet, now_ms) {}
    bool authenticated;
    int64_t opened_ms;
    int64_t taken = 0;         // bytes
    int64_t unattributed = 0;  // of them
    int64_t decayed_ms;
    int64_t open_calls = 0;  // whose messages have not come
    int64_t open_calls_decayed_ms;
    int64_t large_since_ms = -1;  // since so much is unattributed that it may have to wait
    TokenBucket own;
    TokenBucket quiet;
  };
  enum class Decision : uint8_t { kKeep, kSilent, kUnauthenticatedTimeout, kFlood };

  InboundLimiter(const InboundLimits& terms, int64_t now_ms)
      : terms_(terms),
        first_(terms.first_rate, terms.first_burst, now_ms),
        rest_(terms.rest_rate, terms.rest_burst, now_ms),
        all_(terms.all_rate, terms.all_burst, now_ms),
        large_(terms.large_rate, terms.large_burst, now_ms) {}

  const InboundLimits& terms() const { return terms_; }
  // Bytes that may be read from the connection now; 0: try later.
  int64_t AllowedBytes(Account& account, int64_t now_ms);
  void RecordBytes(Account& account, int64_t bytes, int64_t now_ms);
  // A caller began a call: gRPC has its headers.
  void Open(Account& account, int64_t now_ms);
  // The same on an unauthenticated connection, it is not known which.
  void OpenUnauthenticated();
  // A call was admitted, and its message of `bytes` bytes has come.
  void Attribute(Account& account, int64_t bytes, int64_t now_ms);
  // Bytes that belong to no call yet, and the cost of calls without a message. 0 if the connection
  // is unauthenticated.
  int64_t Owed(const Account& account) const;
  Decision Check(Account& account, int64_t now_ms);
  // The connection is closed.
  void Close(const Account& account) { unattributed_ -= account.unattributed; }

 private:
  bool Waits(const Account& account) const;
  int64_t Small(const Account& account) const;
  void Set(Account& account, int64_t unattributed, int64_t now_ms);
  void Decay(Account& account, int64_t now_ms);

  const InboundLimits terms_;
  TokenBucket first_;
  TokenBucket rest_;
  TokenBucket all_;
  TokenBucket large_;
  int64_t unattributed_ = 0;
};

}  // namespace mlc::transport
