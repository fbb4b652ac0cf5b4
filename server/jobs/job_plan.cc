#include "server/jobs/job_plan.h"

namespace mlc::server {
namespace {

// A GPU times faster than a machine compiles: more trials under way keep the compilers at work
// while the slowest build of the oldest batch is awaited. Small batches, since each waits for its
// slowest.
constexpr int kGpuBatchesInFlight = 4;

}  // namespace

JobRun::Plan PlanOf(const db::JobRow& row, const JobOptions& options,
                    const target::Target& target) {
  JobRun::Plan plan;
  plan.job_id = row.id;
  plan.target_class = target.ClassText();
  plan.trials = options.trials;
  plan.batch = options.batch;
  if (target.As<target::GpuTarget>() != nullptr) plan.in_flight = kGpuBatchesInFlight;
  for (const db::JobTask& task : row.tasks) plan.workloads.push_back(task.workload);
  return plan;
}

}  // namespace mlc::server
