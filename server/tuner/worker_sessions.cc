#include "server/tuner/worker_sessions.h"

#include <utility>

namespace mlc::server {

int64_t WorkerSessions::Open(const std::string& worker, const std::string& incarnation,
                             std::function<void()> wake, std::function<void()> disconnect) {
  const MutexLock lock(tables_.mutex);
  WorkerRegistry& registry = tables_.registry;
  WorkerSession session{static_cast<int64_t>(++registry.last_number), incarnation, std::move(wake),
                        std::move(disconnect)};
  const int64_t id = session.id;
  if (tables_.draining) session.disconnect();
  std::swap(registry.sessions[worker], session);
  // Trials that were queued since the worker's last call found no session to wake.
  if (tables_.leases.counts().queued > 0) registry.sessions[worker].wake();
  // The stream of an older process: its worker has not noticed yet.
  if (session.disconnect) session.disconnect();
  return id;
}

void WorkerSessions::Disconnected(int64_t id) {
  const MutexLock lock(tables_.mutex);
  auto& sessions = tables_.registry.sessions;
  for (auto it = sessions.begin(); it != sessions.end(); ++it) {
    if (it->second.id != id) continue;
    tables_.leases.Disconnected(it->first, it->second.incarnation, context_.NowMs());
    sessions.erase(it);
    return;
  }
}

void WorkerSessions::DisconnectAll() {
  const MutexLock lock(tables_.mutex);
  tables_.draining = true;
  for (auto& [name, session] : tables_.registry.sessions) session.disconnect();
}

void WorkerSessions::Wake(TunerTables& tables, const std::string& target_class) {
  const auto idle = tables.registry.idle.find(target_class);
  if (idle == tables.registry.idle.end()) return;
  int64_t queued = tables.leases.counts().queued;
  while (queued-- > 0 && !idle->second.empty()) {
    const std::string name = *idle->second.begin();
    idle->second.erase(idle->second.begin());
    const auto session = tables.registry.sessions.find(name);
    if (session != tables.registry.sessions.end()) session->second.wake();
  }
}

}  // namespace mlc::server
