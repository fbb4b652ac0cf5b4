// Keeps as many workers as the work needs: looks at the demand and at the provider every `poll_ms`,
// lets the planner decide, and does it. One thread of its own. Thread-safe. Trouble with the
// provider is logged, once each time it changes, and never ends the server.
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

// What --fleet says; nothing if there is no such kind.
Result<Kind> ParseKind(const std::string& text);

struct FleetReport {
  int wanted = 0;               // workers
  int running = 0;              // in contact
  std::vector<Needs> unserved;  // of the work; no pool has workers for these
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
  // Ends local workers; those of a batch system stay, for the next server.
  virtual ~Fleet() = default;

  // Stops starting and ending workers: the server is about to drain its workers itself.
  virtual void Suspend() = 0;
};

}  // namespace mlc::server::fleet
