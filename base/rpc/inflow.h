// What connections may send: how much, how fast, and how much that belongs to no call. HTTP/2 lets
// a client say much that a server has to read and answer before it knows who speaks, and our gRPC
// reads all of it. So strangers, who have made no call that was let in, are read slowly; and what
// anybody sends has to be explained by calls. Pure; times are the steady clock's, in
// milliseconds. Thread-compatible.
#pragma once

#include <cstdint>

namespace mlc::transport {

struct InflowTerms {
  // A stranger's first call has come by then, with its message: that is when gRPC tells.
  int64_t stranger_ms = 30'000;
  int64_t silent_ms = 5'000;  // until the first byte
  // Of all strangers a second: what each says first, so that floods keep no newcomers out, which
  // need some 4 KiB; and the rest, which is a first request that is large, or a flood.
  int64_t first_bytes = 6 << 10;
  int64_t first_rate = 512 << 10;
  int64_t first_burst = 1 << 20;
  int64_t rest_rate = 512 << 10;
  int64_t rest_burst = 2 << 20;
  // Of one whose calls are let in, and of all of them.
  int64_t one_rate = 4 << 20;
  int64_t one_burst = 4 << 20;
  int64_t all_rate = 16 << 20;
  int64_t all_burst = 32 << 20;
  // Who sends less than this a second goes on when the others have used up what all may send.
  int64_t quiet = 64 << 10;
  // Bytes that no call explains yet: a request of 16 MiB under way, and some.
  int64_t unexplained = 20 << 20;
  int64_t unexplained_of_all = 192 << 20;
  int64_t forgiven_rate = 4 << 10;  // pings, window updates
};

// Fills with time up to its size.
class Bucket {
 public:
  Bucket(int64_t rate, int64_t size, int64_t now_ms)
      : rate_(rate), size_(size), held_(size), at_ms_(now_ms) {}
  int64_t Held(int64_t now_ms);
  void Take(int64_t bytes) { held_ -= bytes; }

 private:
  int64_t rate_;  // a second
  int64_t size_;
  int64_t held_;
  int64_t at_ms_;
};

class Inflow {
 public:
  // Of one connection.
  struct Account {
    Account(const InflowTerms& terms, bool known, int64_t now_ms)
        : known(known),
          opened_ms(now_ms),
          forgiven_ms(now_ms),
          own(terms.one_rate, terms.one_burst, now_ms),
          quiet(terms.quiet, terms.quiet, now_ms) {}
    bool known;  // no stranger
    int64_t opened_ms;
    int64_t taken = 0;        // bytes
    int64_t unexplained = 0;  // of them
    int64_t forgiven_ms;
    int64_t large_since_ms = -1;  // since so much is unexplained that it may have to wait
    Bucket own;
    Bucket quiet;
  };
  enum class Verdict : uint8_t { kKeep, kSilent, kStranger, kFlood };

  Inflow(const InflowTerms& terms, int64_t now_ms)
      : terms_(terms),
        first_(terms.first_rate, terms.first_burst, now_ms),
        rest_(terms.rest_rate, terms.rest_burst, now_ms),
        all_(terms.all_rate, terms.all_burst, now_ms) {}

  const InflowTerms& terms() const { return terms_; }
  // Bytes that may be read from the connection now; 0: later.
  int64_t MayTake(Account& account, int64_t now_ms);
  void Took(Account& account, int64_t bytes, int64_t now_ms);
  // A call with a message of so many bytes was let in.
  void Explain(Account& account, int64_t bytes, int64_t now_ms);
  Verdict Judge(Account& account, int64_t now_ms);
  // The connection is closed.
  void Close(const Account& account) { unexplained_ -= account.unexplained; }

 private:
  bool Waits(const Account& account) const;
  void Set(Account& account, int64_t unexplained, int64_t now_ms);
  void Forgive(Account& account, int64_t now_ms);

  const InflowTerms terms_;
  Bucket first_;
  Bucket rest_;
  Bucket all_;
  int64_t unexplained_ = 0;
};

}  // namespace mlc::transport
