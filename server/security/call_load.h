// The memory that calls under way hold: requests until they are answered, replies until they are
// sent. Bounded in all and for each caller, so that no caller can exhaust the server's memory or
// the share of others. Small calls, heartbeats among them, have a part of their own. Thread-safe.
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
  int64_t longest_ms = 60'000;  // from the answer until it has been sent
};

class CallLoad {
  struct Entry;

 public:
  // What one call holds; given back with it.
  class Ticket {
   public:
    Ticket(CallLoad& load, std::list<Entry>::iterator entry) : load_(load), entry_(entry) {}
    ~Ticket();
    Ticket(const Ticket&) = delete;
    Ticket& operator=(const Ticket&) = delete;
    // Holds so much from now on. RESOURCE_EXHAUSTED, and nothing changes, if there is no room.
    Status Resize(size_t bytes);
    // The answer is on its way: `end` runs once, in Review, if that takes too long. It may end in
    // this ticket's destruction.
    void Answered(int64_t now_ms, std::function<void()> end);

   private:
    CallLoad& load_;
    const std::list<Entry>::iterator entry_;
  };

  explicit CallLoad(CallLimits limits = {}) : limits_(limits) {}

  // RESOURCE_EXHAUSTED that says whose calls are too many. The ticket must go before this object.
  Result<std::unique_ptr<Ticket>> Take(const Caller& caller, size_t bytes);
  // Ends calls whose clients do not read the answers.
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
  // Recursive: the end of a call may come back with its ticket.
  std::recursive_mutex mutex_;
  std::list<Entry> entries_;
  Held all_;
  std::map<std::string, Held> held_;  // by caller
};

}  // namespace mlc::server
