#include "server/tuner/tuner_tables.h"

namespace mlc::server {

TunerTables::TunerTables(const TunerOptions& options)
    : leases(options.terms),
      registry(options.health, options.names, options.terms.lease_ms),
      quotas(options.quotas) {}

std::shared_ptr<RunningJob> TunerTables::FindJob(const std::string& id) const {
  const Result<Digest> digest = Digest::Parse(id);
  if (!digest.ok()) return nullptr;
  const auto found = jobs.find(*digest);
  return found == jobs.end() ? nullptr : found->second;
}

void TunerTables::Insert(const std::shared_ptr<RunningJob>& job) {
  UpdateShares(Of(*job).row);
  jobs[job->spec.id] = job;
}

void TunerTables::UpdateShares(const db::JobRow& row) {
  // A job without an owner shares like a user of its own.
  const std::string user = row.owner.empty() ? row.id.ToText() : row.owner;
  leases.shares().Set(row.id, {user, row.priority});
  leases.shares().SetWeight(user, quotas.LimitsOf(user).weight);
}

void TunerTables::ScheduleAll(SearchQueue& queue) const {
  for (const auto& [id, job] : jobs) {
    if (!Of(*job).ended) queue.Schedule(job);
  }
}

}  // namespace mlc::server
