#include "server/tuner/job_queries.h"

#include <algorithm>
#include <optional>
#include <set>

#include "server/jobs/job_progress.h"

namespace mlc::server {
namespace {

constexpr int64_t kListedJobs = 100;
constexpr int64_t kMostListedJobs = 10'000;

}  // namespace

JobQueries::JobQueries(const TunerContext& context, Parts parts)
    : context_(context),
      tables_(parts.tables),
      store_(parts.store),
      log_health_(parts.log_health),
      workers_(parts.workers) {}

std::string JobQueries::DetailOf(const RunningJob& job) const {
  const JobFacts& facts = tables_.Of(job);
  if (facts.ended || !facts.progress.detail().empty()) return facts.progress.detail();
  const std::optional<Needs> unserved = tables_.leases.Unserved(job.spec.id);
  return unserved ? workers_.WaitsFor(tables_, *unserved) : AbandonedText(facts);
}

Result<proto::JobProgress> JobQueries::Progress(const std::string& id) const {
  {
    const MutexLock lock(tables_.mutex);
    if (const std::shared_ptr<RunningJob> job = tables_.FindJob(id)) {
      const JobFacts& facts = tables_.Of(*job);
      const Status log_status = log_health_.status();
      if (!log_status.ok() && facts.progress.state() != proto::DONE) {
        return log_status.WithPrefix("results cannot be kept");
      }
      const int64_t now = context_.NowMs();
      proto::JobProgress progress = facts.progress;
      progress.set_workers(tables_.leases.WorkersOf(job->spec.target_class, now));
      progress.set_gpu_busy(workers_.GpuBusy(tables_, job->spec.target_class));
      progress.set_detail(DetailOf(*job));
      if (!facts.ended) {
        progress.set_elapsed_s(static_cast<double>(now - facts.started_ms) / 1000);
      }
      return progress;
    }
  }
  return ProgressFrom(MLC_TRY(store_.Row(id)));
}

Result<proto::JobDescription> JobQueries::Describe(const std::string& id) const {
  const db::JobRow row = MLC_TRY(store_.Row(id));
  proto::JobDescription description;
  *description.mutable_summary() = SummaryNow(row);
  const JobOptions options = MLC_TRY(JobOptions::Parse(row.options));
  description.mutable_options()->set_trials(options.trials);
  description.mutable_options()->set_seed(options.seed);
  description.mutable_options()->set_fresh(!options.use_history);
  description.mutable_options()->set_time_budget_ms(options.time_budget_ms);
  description.mutable_options()->set_batch(options.batch);
  description.mutable_options()->set_priority(row.priority);
  for (const db::JobTask& task : row.tasks) {
    proto::Task& wire = *description.add_tasks();
    wire.set_workload(MLC_TRY(store_.WorkloadText(task.workload)));
    wire.set_occurrences(task.occurrences);
    wire.set_label(task.label);
  }
  for (const JobVariant& variant : options.variants) {
    description.add_variants()->set_name(variant.name);
    const auto tasks =
        std::min<int>(description.tasks_size(), static_cast<int>(variant.uses.size()));
    for (int i = 0; i < tasks; ++i) {
      description.mutable_tasks(i)->add_uses(variant.uses[static_cast<size_t>(i)]);
    }
  }
  return description;
}

proto::JobSummary JobQueries::SummaryNow(const db::JobRow& row) const {
  proto::JobSummary summary = SummaryOf(row);
  const MutexLock lock(tables_.mutex);
  const auto found = tables_.jobs.find(row.id);
  if (found == tables_.jobs.end()) return summary;
  const JobFacts& facts = tables_.Of(*found->second);
  if (facts.ended) return summary;
  summary.set_state(proto::RUNNING);
  summary.set_priority(facts.row.priority);
  summary.set_trials(facts.progress.trials());
  summary.set_trials_wanted(facts.progress.trials_wanted());
  summary.set_detail(DetailOf(*found->second));
  return summary;
}

Result<proto::ListJobsReply> JobQueries::List(const proto::ListJobsRequest& request) const {
  const int64_t limit =
      request.limit() > 0 ? std::min<int64_t>(request.limit(), kMostListedJobs) : kListedJobs;
  proto::ListJobsReply reply;
  std::set<Digest> listed;
  for (const db::JobQuery& query :
       {db::JobQuery{.state = db::JobState::kRunning, .with_tasks = false},
        db::JobQuery{.state = {}, .limit = limit, .with_tasks = false}}) {
    for (const db::JobRow& row : MLC_TRY(context_.log.Jobs(query))) {
      if (listed.insert(row.id).second) *reply.add_jobs() = SummaryNow(row);
    }
  }
  std::stable_sort(reply.mutable_jobs()->begin(), reply.mutable_jobs()->end(),
                   [](const proto::JobSummary& a, const proto::JobSummary& b) {
                     return a.created_us() > b.created_us();
                   });
  return reply;
}

}  // namespace mlc::server
