// A search measures its leaders again, side by side, and that counts more than what they took
// before. So they go to another worker than the one that claims the lead, if there is one: no
// worker confirms itself. A contradicted claim counts as a bad result.
#include <spdlog/spdlog.h>

#include <map>
#include <utility>

#include "base/clock.h"
#include "server/tuner/tuner.h"
#include "server/tuner/tuner_call.h"
#include "server/tuner/tuner_job.h"
#include "server/workers/plausibility.h"

namespace mlc::server {
namespace {

// A leader is among so many of the fastest.
constexpr int kLeaders = 64;

}  // namespace

// One for each trial, empty where it confirms nothing. Reads the log.
std::vector<Claim> Tuner::ClaimsOn(const Job& job, const std::vector<Trial>& trials) const {
  std::vector<Claim> claims(trials.size());
  std::map<int, std::vector<db::Record>> leaders;                       // by task
  std::map<std::pair<int, int>, std::pair<double, std::string>> first;  // by task and turn
  for (size_t i = 0; i < trials.size(); ++i) {
    const Proposal& proposal = trials[i].proposal;
    if (proposal.group == 0) continue;
    const auto [known, is_new] = leaders.try_emplace(proposal.task);
    if (is_new) {
      const Digest& workload = job.row.tasks[static_cast<size_t>(proposal.task)].workload;
      auto fastest = log_.Best(workload, job.target_class, kLeaders);
      if (fastest.ok()) known->second = *std::move(fastest);
    }
    const std::string config = proposal.config.ToText();
    for (const db::Record& record : known->second) {
      if (record.config != config) continue;
      claims[i] = {record.worker, record.measurement.median_ns, {}};
      break;
    }
    auto& leader = first[{proposal.task, proposal.group}];
    const bool leads = leader.second.empty() || claims[i].ns < leader.first;
    if (!claims[i].worker.empty() && leads) leader = {claims[i].ns, claims[i].worker};
  }
  for (size_t i = 0; i < trials.size(); ++i) {
    const auto found = first.find({trials[i].proposal.task, trials[i].proposal.group});
    if (found != first.end()) claims[i].avoid = found->second.second;
  }
  return claims;
}

// All of a turn avoid the same worker, so that they stay side by side. REQUIRES mutex_.
LeaseAsk Tuner::AskFor(const Job& job, const Trial& trial, const Claim& claim) const {
  LeaseAsk ask{trial.uid, job.row.id, NeedsOf(job, trial.proposal), {}, {}, 0};
  if (claim.avoid.empty() || leases_.WorkersFor(ask.needs) < 2) return ask;
  ask.avoid = claim.avoid;
  ask.avoid_until_ms = SteadyMs() + options_.confirm_wait_ms;
  return ask;
}

// REQUIRES mutex_; the trial is pending.
void Tuner::CompareWithClaim(const db::Record& record) {
  const Claim& claim = pending_.at(record.task_uid).claim;
  if (claim.worker.empty() || claim.worker == record.worker) return;
  if (record.measurement.outcome != Outcome::kOk) return;
  if (!Contradicts(claim.ns, record.measurement.median_ns)) return;
  const std::string why = std::to_string(claim.ns / 1e3) + " us for what takes worker " +
                          record.worker + " " + std::to_string(record.measurement.median_ns / 1e3) +
                          " us";
  options_.logger->warn("{}: worker {} claimed {}", LogFields(record), claim.worker, why);
  options_.metrics->Add(Counter::kSuspectResults);
  ReportBadResult(claim.worker, why);
}

}  // namespace mlc::server
