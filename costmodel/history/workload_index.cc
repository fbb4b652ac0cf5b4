#include "costmodel/history/workload_index.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "compiler/schedule/admission.h"
#include "costmodel/transfer.h"

namespace mlc::server {
namespace {

// Texts may be long: so many are in memory at once.
constexpr int64_t kPage = 256;

}  // namespace

Result<std::vector<Digest>> WorkloadIndex::Near(const costmodel::Problem& problem) {
  std::lock_guard lock(mutex_);
  MLC_TRY(Follow());
  std::vector<std::pair<double, Digest>> near;
  for (const costmodel::NearProblem& found : costmodel::NearProblems(problem, problems_)) {
    near.emplace_back(found.distance, keys_[found.index]);
  }
  // Whatever the order in which workloads came into the log.
  std::sort(near.begin(), near.end());
  std::vector<Digest> keys;
  for (const auto& [distance, key] : near) keys.push_back(key);
  return keys;
}

int64_t WorkloadIndex::size() const {
  std::lock_guard lock(mutex_);
  return std::ssize(keys_);
}

// REQUIRES mutex_.
Status WorkloadIndex::Follow() {
  if (last_id_ == 0) {
    last_id_ = std::max<int64_t>(0, MLC_TRY(log_.Now()).last_workload_id - most_);
  }
  while (true) {
    const std::vector<db::WorkloadRow> page = MLC_TRY(log_.Workloads(last_id_, kPage));
    for (const db::WorkloadRow& row : page) {
      last_id_ = row.id;
      const Result<graph::Workload> workload = graph::Workload::Parse(row.text);
      // Of a form that this program does not know, or that costs more than it helps.
      if (!workload.ok() || !schedule::CheckAdmissible(*workload).ok()) continue;
      keys_.push_back(row.key);
      problems_.push_back(costmodel::DescribeProblem(*workload));
    }
    Drop();
    if (std::ssize(page) < kPage) return Status();
  }
}

// The oldest beyond what is to be known, many at a time. REQUIRES mutex_.
void WorkloadIndex::Drop() {
  if (std::ssize(keys_) <= most_ + most_ / 2) return;
  const int64_t surplus = std::ssize(keys_) - most_;
  keys_.erase(keys_.begin(), keys_.begin() + surplus);
  problems_.erase(problems_.begin(), problems_.begin() + surplus);
}

}  // namespace mlc::server
