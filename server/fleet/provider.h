// The interface of what places workers: this machine, a batch system or a command of the site. A
// provider only starts, lists and ends processes. Its list is advisory, because a batch system may
// be stale or unreachable; only the calls of a worker prove that it works. The fleet calls a
// provider from one thread. A call may take seconds, and gives up when the stop token of the
// provider is requested.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace mlc::server::fleet {

enum class PlacedState : uint8_t {
  kPending,  // accepted, without a place
  kRunning,
  kEnding,  // it exits, or its machine goes away
};

struct PlacedWorker {
  std::string name;  // as given to Ensure; the worker presents itself with it
  std::string pool;
  PlacedState state = PlacedState::kPending;
  bool requeued = false;  // the batch system lost it once and starts it again by itself
  std::string where;      // machine, job or process, for people
  // Why the provider will take its place away soon; empty: it will not.
  std::string evicted = {};
};

class Provider {
 public:
  virtual ~Provider() = default;

  // False if the provider starts nothing, because administrators start the workers.
  virtual bool places() const { return true; }
  // Requests workers of these names. An existing name is left alone. After an error some of them
  // may have started; List shows which.
  virtual Status Ensure(const std::string& pool, const std::vector<std::string>& names) = 0;
  // All workers of this fleet, including those that an earlier server requested.
  virtual Result<std::vector<PlacedWorker>> List() = 0;
  // Lets the worker finish its trials and exit. OK if there is no such worker.
  virtual Status Drain(const std::string& name) = 0;
  // Ends the worker immediately, or removes it from the queue. OK if there is no such worker.
  virtual Status Kill(const std::string& name) = 0;
};

}  // namespace mlc::server::fleet
