#include "server/workload_index.h"

#include "compiler/schedule/admission.h"
#include "costmodel/transfer.h"

namespace mlc::server {

Result<std::vector<Digest>> WorkloadIndex::Near(const costmodel::Problem& problem) {
  std::lock_guard lock(mutex_);
  MLC_TRY(Follow());
  std::vector<Digest> near;
  for (const size_t place : costmodel::NearestProblems(problem, problems_)) {
    near.push_back(keys_[place]);
  }
  return near;
}

// REQUIRES mutex_.
Status WorkloadIndex::Follow() {
  for (const db::WorkloadRow& row : MLC_TRY(log_.Workloads(last_id_))) {
    last_id_ = row.id;
    const Result<graph::Workload> workload = graph::Workload::Parse(row.text);
    // Of a form that this program does not know, or that costs more than it helps.
    if (!workload.ok() || !schedule::CheckAdmissible(*workload).ok()) continue;
    problems_.push_back(costmodel::DescribeProblem(*workload));
    keys_.push_back(row.key);
  }
  return Status();
}

}  // namespace mlc::server
