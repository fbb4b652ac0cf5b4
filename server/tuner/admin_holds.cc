#include "server/tuner/admin_holds.h"

#include <spdlog/spdlog.h>

namespace mlc::server {
namespace {

Status NoWorker(const std::string& name) {
  return NotFound("no worker " + name + " has called this server; mlc-tune workers lists them");
}

std::string TextOf(AdminHoldKind hold, const std::string& reason) {
  switch (hold) {
    case AdminHoldKind::kNone:
      return "released";
    case AdminHoldKind::kDrain:
      return "drains: " + reason;
    case AdminHoldKind::kQuarantine:
      return "quarantined by an administrator: " + reason;
  }
  return "";
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

void AdminHolds::Decide(TunerTables& tables, const std::string& worker, AdminHoldKind hold,
                        const std::string& reason) const {
  WorkerRegistry& registry = tables.registry;
  switch (hold) {
    case AdminHoldKind::kNone:
      return registry.health.Release(worker);
    case AdminHoldKind::kQuarantine:
      return registry.health.Quarantine(worker, reason, context_.NowMs());
    case AdminHoldKind::kDrain:
      registry.health.Drain(worker, reason);
      const auto session = registry.sessions.find(worker);
      if (session != registry.sessions.end()) session->second.wake();
  }
}

Status AdminHolds::Set(const std::string& worker, AdminHoldKind hold, const std::string& reason) {
  const MutexLock order(rows_);
  db::AdminHold row;
  {
    const MutexLock lock(tables_.mutex);
    WorkerRegistry& registry = tables_.registry;
    if (!registry.workers.contains(worker) && !registry.health.SummaryOf(worker).known) {
      return NoWorker(worker);
    }
    Decide(tables_, worker, hold, reason);
    const WorkerHealth::AdminHold held = registry.health.AdminHoldOf(worker);
    row = {worker, held.quarantine, held.drain, held.incarnation, context_.WallUs()};
  }
  const std::string what = TextOf(hold, reason);
  context_.logger().info("worker={} {}", worker, what);
  return context_.log.PutAdminHold(row).WithPrefix("until the server restarts, " + worker + " " +
                                                   what + "; it could not be written down");
}

}  // namespace mlc::server
