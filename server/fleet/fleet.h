// Keeps as many workers running as the queued work needs. Every `poll_ms` it reads the demand and
// the provider's list, asks the planner for actions and performs them, on a thread of its own.
// Thread-safe. Errors of the provider never end the server; each new error is logged once.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "server/fleet/config.h"
#include "server/scheduler/demand.h"

namespace spdlog {
class logger;
}

namespace mlc::server::fleet {

// Parses the value of --fleet. INVALID_ARGUMENT for an unknown kind.
Result<Kind> ParseKind(const std::string& text);

struct FleetReport {
  int wanted = 0;               // workers
  int running = 0;              // in contact
  std::vector<Needs> unserved;  // needs of queued work that no pool can meet
};

class Fleet {
 public:
  struct Links {
    std::function<Demand()> demand;
    std::function<void(const FleetReport&)> report;  // after each round; may be empty
    std::shared_ptr<spdlog::logger> logger;
    const Clock* clock = &SystemClock();
  };
  // `address`: where this server listens. The links are called from the fleet's thread until
  // Suspend or the destructor returns.
  static std::unique_ptr<Fleet> Start(FleetConfig config, const std::string& address, Links links);
  // Ends local workers. Workers of a batch system keep running for the next server.
  virtual ~Fleet() = default;

  // Stops starting and ending workers. Call it before the server drains its workers itself.
  virtual void Suspend() = 0;
};

}  // namespace mlc::server::fleet
