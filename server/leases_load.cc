// What workers' time goes to, and how much there is to do.
#include <algorithm>

#include "server/leases.h"

namespace mlc::server {
namespace {

// Results that are ready at the same time come in calls one after another: they are paid together.
constexpr int64_t kPayMs = 20;

}  // namespace

// What came between two calls shares the time between them: it was built and timed in turns. What a
// lost lease was taken for stays charged: its time is lost, too.
void Leases::PayFor(Worker& worker, int64_t now_ms) {
  if (!worker.received.empty() && now_ms - worker.busy_since_ms >= kPayMs) {
    const double seconds = static_cast<double>(now_ms - worker.busy_since_ms) / 1e3 /
                           static_cast<double>(worker.received.size());
    for (const Worker::Received& one : worker.received) {
      if (one.charged > 0) {
        shares_.Settle(worker.offer.target_class, one.study, one.charged, seconds);
      }
    }
    worker.received.clear();
    worker.busy_since_ms = now_ms;
  }
  if (worker.leases.empty() && worker.received.empty()) worker.busy_since_ms = now_ms;
}

int Leases::WorkersOf(const std::string& target_class, int64_t now_ms) const {
  return static_cast<int>(std::count_if(workers_.begin(), workers_.end(), [&](const auto& entry) {
    const Worker& worker = entry.second;
    return worker.alive && worker.deadline_ms >= now_ms &&
           worker.offer.target_class == target_class;
  }));
}

int Leases::WorkersFor(const Needs& needs) const {
  return static_cast<int>(std::count_if(workers_.begin(), workers_.end(), [&](const auto& entry) {
    return entry.second.alive && entry.second.offer.Meets(needs);
  }));
}

int64_t Leases::HeldBy(const std::string& worker) const {
  const auto found = workers_.find(worker);
  return found == workers_.end() ? 0 : static_cast<int64_t>(found->second.leases.size());
}

std::map<std::string, Leases::Load> Leases::LoadByClass() const {
  std::map<std::string, Load> loads;
  for (const auto& [key, queue] : queues_) {
    Load& load = loads[queue.needs.target_class];
    load.queued += static_cast<int64_t>(queue.fresh.size() + queue.special.size());
    load.leased += queue.leased;
  }
  return loads;
}

}  // namespace mlc::server
