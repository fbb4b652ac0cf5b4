// Who places workers: this machine, a batch system, a site's own command. A provider only starts,
// lists and ends processes; what it says of them is advisory, because a batch system may be stale
// or away. Whether a worker works is known from its calls alone. Calls come from one thread, may
// take seconds, and give up when `stop` of the provider's options is requested.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace mlc::server::fleet {

enum class PlacedState : uint8_t {
  kPending,  // accepted, without a place
  kRunning,
  kEnding,  // leaves, or is left by its machine
};

struct PlacedWorker {
  std::string name;  // as given to Ensure; the worker presents itself with it
  std::string pool;
  PlacedState state = PlacedState::kPending;
  bool requeued = false;  // the batch system lost it once and starts it again by itself
  std::string where;      // machine, job or process, for people
  // Why its place will be taken away soon; empty: it will not.
  std::string evicted = {};
};

class Provider {
 public:
  virtual ~Provider() = default;

  // False if it starts nothing: workers are started by hand.
  virtual bool places() const { return true; }
  // Asks for workers of these names. An error may come after some were started: List tells. A name
  // that exists already is left alone.
  virtual Status Ensure(const std::string& pool, const std::vector<std::string>& names) = 0;
  // All workers of this fleet, also those that an earlier server asked for.
  virtual Result<std::vector<PlacedWorker>> List() = 0;
  // The worker finishes what it holds and leaves. OK if there is no such worker.
  virtual Status Drain(const std::string& name) = 0;
  // Ends it now, or takes it out of the queue. OK if there is no such worker.
  virtual Status Kill(const std::string& name) = 0;
};

}  // namespace mlc::server::fleet
