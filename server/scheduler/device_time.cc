#include "server/scheduler/device_time.h"

#include <algorithm>

namespace mlc::server {
namespace {

// Results that are ready at the same time come in calls one after another: they are paid together.
constexpr int64_t kPayMs = 20;

double Seconds(int64_t ms) { return static_cast<double>(ms) / 1e3; }

void Pay(lease_state::Worker& worker, int64_t now_ms, FairShares& shares,
         std::vector<LeasePayment>& paid) {
  const double part = worker.passed_s / static_cast<double>(worker.received.size());
  for (const lease_state::Worker::Received& one : worker.received) {
    if (one.charged <= 0) continue;
    const double most = Seconds(now_ms - one.leased_ms) * worker.offer.devices;
    const double seconds = one.reported_s ? std::clamp(*one.reported_s, 0.0, most) : part;
    shares.Settle(worker.offer.target_class, one.job_id, one.charged, seconds);
    paid.push_back({one.job_id, seconds});
  }
  worker.received.clear();
}

}  // namespace

// What a lost lease was taken for stays charged: its time is lost, too.
void PayForDevices(lease_state::Worker& worker, int64_t now_ms, FairShares& shares,
                   std::vector<LeasePayment>& paid) {
  const int at_work = std::min(worker.held, worker.offer.devices);
  worker.passed_s += Seconds(now_ms - worker.last_contact_ms) * at_work;
  bool over = worker.leases.empty() && worker.received.empty();
  if (!worker.received.empty() && now_ms - worker.paid_ms >= kPayMs) {
    Pay(worker, now_ms, shares, paid);
    over = true;
  }
  if (!over) return;
  worker.passed_s = 0;
  worker.paid_ms = now_ms;
}

}  // namespace mlc::server
