#include "server/tuner/claims.h"

#include <map>
#include <utility>

namespace mlc::server {
namespace {

// A leader is among so many of the fastest.
constexpr int kLeaders = 64;

}  // namespace

std::vector<Claim> ClaimsOn(const db::TuningLog& log, const JobSpec& job,
                            const std::vector<Trial>& trials) {
  std::vector<Claim> claims(trials.size());
  std::map<int, std::vector<db::Record>> leaders;                       // by task
  std::map<std::pair<int, int>, std::pair<double, std::string>> first;  // by task and turn
  for (size_t i = 0; i < trials.size(); ++i) {
    const Proposal& proposal = trials[i].proposal;
    if (proposal.group == 0) continue;
    const auto [known, is_new] = leaders.try_emplace(proposal.task);
    if (is_new) {
      const Digest& workload = job.tasks[static_cast<size_t>(proposal.task)].workload;
      auto fastest = log.Best(workload, job.target_class, kLeaders);
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

}  // namespace mlc::server
