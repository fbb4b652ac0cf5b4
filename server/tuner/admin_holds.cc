#include "server/tuner/admin_holds.h"

#include <spdlog/spdlog.h>

namespace mlc::server {
namespace {

Status NoWorker(const std::string& name) {
  return NotFound("no worker " + name + " has called this server; mlc-tune workers lists them");
}

}  // namespace

Status AdminHolds::Restore() {
  for (const db::AdminHold& hold : MLC_TRY(context_.log.AdminHolds())) {
    const MutexLock lock(tables_.mutex);
    tables_.registry.health.RestoreAdminHold(hold.worker,
                                             {hold.quarantine, hold.drain, hold.incarnation});
  }
  return Status();
}

Status AdminHolds::Drain(const std::string& worker, const std::string& reason) {
  return Set(worker, "drains: " + reason, [&](WorkerRegistry& registry) {
    registry.health.Drain(worker, reason);
    const auto session = registry.sessions.find(worker);
    if (session != registry.sessions.end()) session->second.wake();
  });
}

Status AdminHolds::Quarantine(const std::string& worker, const std::string& reason) {
  return Set(worker, "quarantined by an administrator: " + reason, [&](WorkerRegistry& registry) {
    registry.health.Quarantine(worker, reason, context_.NowMs());
  });
}

Status AdminHolds::Release(const std::string& worker) {
  return Set(worker, "released",
             [&](WorkerRegistry& registry) { registry.health.Release(worker); });
}

Status AdminHolds::Set(const std::string& worker, const std::string& what,
                       const std::function<void(WorkerRegistry&)>& decide) {
  const MutexLock order(rows_);
  db::AdminHold row;
  {
    const MutexLock lock(tables_.mutex);
    WorkerRegistry& registry = tables_.registry;
    if (!registry.workers.contains(worker) && !registry.health.SummaryOf(worker).known) {
      return NoWorker(worker);
    }
    decide(registry);
    const WorkerHealth::AdminHold hold = registry.health.AdminHoldOf(worker);
    row = {worker, hold.quarantine, hold.drain, hold.incarnation, context_.WallUs()};
  }
  context_.logger().info("worker={} {}", worker, what);
  return context_.log.PutAdminHold(row).WithPrefix("until the server restarts, " + worker + " " +
                                                   what + "; it could not be written down");
}

}  // namespace mlc::server
