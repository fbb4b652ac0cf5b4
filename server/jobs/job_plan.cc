#include "server/jobs/job_plan.h"

#include <algorithm>

namespace mlc::server {
namespace {

// A GPU times faster than a machine compiles: more trials under way keep the compilers at work
// while the slowest build of the oldest batch is awaited. Small batches, since each waits for its
// slowest.
constexpr int kGpuBatchesInFlight = 4;
// Four batches of 16 are 64 trials of a task of which nothing is known. With batches of 4 first,
// replays come within 2 % of the optimum of a user's kernel in half to four fifths of the trials;
// 16 trials are enough to keep 16 compilers at work.
constexpr int64_t kFirstOfEachTask = 4;

}  // namespace

JobRun::Plan PlanOf(const db::JobRow& row, const JobOptions& options,
                    const target::Target& target) {
  JobRun::Plan plan;
  plan.job_id = row.id;
  plan.target_class = target.ClassText();
  plan.trials = options.trials;
  plan.batch = options.batch;
  if (target.As<target::GpuTarget>() != nullptr) {
    plan.in_flight = kGpuBatchesInFlight;
    const auto first = kFirstOfEachTask * static_cast<int64_t>(row.tasks.size());
    plan.first_batch = static_cast<int>(std::clamp<int64_t>(first, 1, options.batch));
  }
  for (const db::JobTask& task : row.tasks) plan.workloads.push_back(task.workload);
  return plan;
}

}  // namespace mlc::server
