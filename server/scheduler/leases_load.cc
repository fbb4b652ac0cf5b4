// What the time of workers' devices goes to, and how much there is to do.
#include <algorithm>

#include "server/scheduler/leases.h"

namespace mlc::server {
namespace {

// Results that are ready at the same time come in calls one after another: they are paid together.
constexpr int64_t kPayMs = 20;

double Seconds(int64_t ms) { return static_cast<double>(ms) / 1e3; }

}  // namespace

// What a lost lease was taken for stays charged: its time is lost, too.
void Leases::PayFor(Worker& worker, int64_t now_ms, Orders& orders) {
  const int at_work = std::min(worker.held, worker.offer.devices);
  worker.passed_s += Seconds(now_ms - worker.last_contact_ms) * at_work;
  bool paid = worker.leases.empty() && worker.received.empty();
  if (!worker.received.empty() && now_ms - worker.paid_ms >= kPayMs) {
    Pay(worker, now_ms, orders);
    paid = true;
  }
  if (!paid) return;
  worker.passed_s = 0;
  worker.paid_ms = now_ms;
}

void Leases::Pay(Worker& worker, int64_t now_ms, Orders& orders) {
  const double part = worker.passed_s / static_cast<double>(worker.received.size());
  for (const Worker::Received& one : worker.received) {
    if (one.charged <= 0) continue;
    const double most = Seconds(now_ms - one.leased_ms) * worker.offer.devices;
    const double seconds = one.reported_s ? std::clamp(*one.reported_s, 0.0, most) : part;
    shares_.Settle(worker.offer.target_class, one.job_id, one.charged, seconds);
    orders.paid.push_back({one.job_id, seconds});
  }
  worker.received.clear();
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
    const Worker& worker = entry.second;
    return worker.alive && worker.eligible && worker.offer.Meets(needs);
  }));
}

std::optional<Needs> Leases::Unserved(const Digest& job_id) const {
  for (auto it = FirstOf(job_id); it != queues_.end() && it->second.job_id == job_id; ++it) {
    const Queue& queue = it->second;
    if (queue.fresh.empty() && queue.special.empty()) continue;
    const bool served = std::any_of(workers_.begin(), workers_.end(), [&](const auto& entry) {
      const Worker& worker = entry.second;
      return worker.alive && worker.eligible && worker.offer.Meets(queue.needs);
    });
    if (!served) return queue.needs;
  }
  return std::nullopt;
}

int64_t Leases::HeldBy(const std::string& worker) const {
  const auto found = workers_.find(worker);
  return found == workers_.end() ? 0 : static_cast<int64_t>(found->second.leases.size());
}

std::map<Needs, Leases::Load> Leases::LoadByNeeds() const {
  std::map<Needs, Load> loads;
  for (const auto& [key, queue] : queues_) Count(queue, loads[queue.needs]);
  return loads;
}

Leases::Load Leases::LoadOf(const Digest& job_id) const {
  Load load;
  for (auto it = FirstOf(job_id); it != queues_.end() && it->second.job_id == job_id; ++it) {
    Count(it->second, load);
  }
  return load;
}

void Leases::Count(const Queue& queue, Load& load) {
  load.queued += static_cast<int64_t>(queue.fresh.size() + queue.special.size());
  load.leased += queue.leased;
}

Leases::Queues::const_iterator Leases::FirstOf(const Digest& job_id) const {
  return queues_.lower_bound({job_id, Needs{{}, {}, INT64_MIN}});
}

}  // namespace mlc::server
