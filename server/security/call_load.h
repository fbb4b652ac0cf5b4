// Accounts the memory of calls in progress: requests until they are answered, replies until they
// are sent. The total and the share of each caller are bounded, so that no caller can exhaust the
// server's memory or the share of others. Small calls, such as heartbeats, have their own budget.
// Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/status.h"
#include "server/security/caller.h"

namespace mlc::server {

struct CallLimits {
  size_t small_call = size_t{64} << 10;
  size_t small_total = size_t{64} << 20;
  size_t small_of_one = size_t{32} << 20;
  size_t large_total = size_t{256} << 20;
  size_t large_of_one = size_t{96} << 20;
  int64_t longest_ms = 60'000;  // from the answer until gRPC has sent it
};

class CallLoad {
  struct Entry;

 public:
  // The reservation of one call. The destructor releases it.
  class Ticket {
   public:
    Ticket(CallLoad& load, std::list<Entry>::iterator entry) : load_(load), entry_(entry) {}
    ~Ticket();
    Ticket(const Ticket&) = delete;
    Ticket& operator=(const Ticket&) = delete;
    // Changes the reservation to this many bytes. RESOURCE_EXHAUSTED, without a change, if there is
    // no room.
    Status Resize(size_t bytes);
    // Starts the time limit for sending the answer. If sending takes too long, Review runs `end`
    // once. `end` may destroy this ticket.
    void Answered(int64_t now_ms, std::function<void()> end);

   private:
    CallLoad& load_;
    const std::list<Entry>::iterator entry_;
  };

  explicit CallLoad(CallLimits limits = {}) : limits_(limits) {}

  // Reserves memory for a call. RESOURCE_EXHAUSTED, with the caller or total that exceeds its
  // limit. The ticket must not outlive this object.
  Result<std::unique_ptr<Ticket>> Take(const Caller& caller, size_t bytes);
  // Ends calls whose clients do not read their answers in time.
  void Review(int64_t now_ms);

 private:
  struct Held {
    size_t small = 0;
    size_t large = 0;
    int64_t calls = 0;
  };
  struct Entry {
    std::string caller;
    bool local = false;
    size_t bytes = 0;
    int64_t answered_ms = -1;
    std::function<void()> end;
  };

  size_t& Part(Held& held, size_t bytes) const;
  Status Reserve(Entry& entry, size_t bytes);

  const CallLimits limits_;
  // Recursive, because the end of a call may destroy its ticket, which locks again.
  std::recursive_mutex mutex_;
  std::list<Entry> entries_;
  Held all_;
  std::map<std::string, Held> held_;  // by caller
};

}  // namespace mlc::server
