#include "server/tuner/job_queries.h"

#include <algorithm>
#include <optional>
#include <set>

#include "server/jobs/job_progress.h"

namespace mlc::server {
namespace {

constexpr int64_t kListedJobs = 100;
constexpr int64_t kMostListedJobs = 10'000;

// 0: it has none. What is over is a moment, for 0 would be no limit.
double BudgetLeftS(const RunningJob& job, const JobFacts& facts, int64_t elapsed_ms) {
  const int64_t budget_ms = job.spec.options.time_budget_ms;
  if (budget_ms <= 0) return 0;
  return static_cast<double>(std::max<int64_t>(1, budget_ms - facts.row.spent_ms - elapsed_ms)) /
         1000;
}

}  // namespace

JobQueries::JobQueries(const TunerContext& context, Parts parts)
    : context_(context),
      tables_(parts.tables),
      store_(parts.store),
      log_health_(parts.log_health),
      workers_(parts.workers) {}

std::string JobQueries::DetailOf(const RunningJob& job) const {
  const JobFacts& facts = tables_.Of(job);
  if (facts.ended || !facts.progress.detail.empty()) return facts.progress.detail;
  const std::optional<Needs> unserved = tables_.leases.Unserved(job.spec.id);
  return unserved ? workers_.WaitsFor(tables_, *unserved) : AbandonedText(facts);
}

Result<JobProgress> JobQueries::Progress(const std::string& id) const {
  {
    const MutexLock lock(tables_.mutex);
    if (const std::shared_ptr<RunningJob> job = tables_.FindJob(id)) {
      const JobFacts& facts = tables_.Of(*job);
      const Status log_status = log_health_.status();
      if (!log_status.ok() && facts.progress.state != db::JobState::kDone) {
        return log_status.WithPrefix("results cannot be kept");
      }
      const int64_t now = context_.NowMs();
      JobProgress progress = facts.progress;
      progress.workers = tables_.leases.workers().CountOf(job->spec.target_class, now);
      progress.gpu_busy = workers_.GpuBusy(tables_, job->spec.target_class);
      progress.detail = DetailOf(*job);
      if (!facts.ended) {
        const int64_t elapsed_ms = now - facts.started_ms;
        progress.elapsed_s = static_cast<double>(elapsed_ms) / 1000;
        progress.budget_left_s = BudgetLeftS(*job, facts, elapsed_ms);
      }
      return progress;
    }
  }
  return ProgressFrom(MLC_TRY(store_.Row(id)));
}

Result<JobDescription> JobQueries::Describe(const std::string& id) const {
  const db::JobRow row = MLC_TRY(store_.Row(id));
  JobDescription description;
  description.summary = SummaryNow(row);
  const JobOptions options = MLC_TRY(JobOptions::Parse(row.options));
  description.options.trials = options.trials;
  description.options.seed = options.seed;
  description.options.fresh = !options.use_history;
  description.options.time_budget_ms = options.time_budget_ms;
  description.options.batch = options.batch;
  description.options.reproducible = options.reproducible;
  description.options.priority = row.priority;
  for (const db::JobTask& task : row.tasks) {
    SubmittedTask& submitted = description.tasks.emplace_back();
    submitted.workload = MLC_TRY(store_.WorkloadText(task.workload));
    submitted.occurrences = task.occurrences;
    submitted.label = task.label;
  }
  for (const JobVariant& variant : options.variants) {
    description.variants.push_back(variant.name);
    const size_t tasks = std::min(description.tasks.size(), variant.uses.size());
    for (size_t i = 0; i < tasks; ++i) description.tasks[i].uses.push_back(variant.uses[i]);
  }
  return description;
}

JobSummary JobQueries::SummaryNow(const db::JobRow& row) const {
  JobSummary summary = SummaryOf(row);
  const MutexLock lock(tables_.mutex);
  const auto found = tables_.jobs.find(row.id);
  if (found == tables_.jobs.end()) return summary;
  const JobFacts& facts = tables_.Of(*found->second);
  if (facts.ended) return summary;
  summary.state = db::JobState::kRunning;
  summary.priority = facts.row.priority;
  summary.trials = facts.progress.trials;
  summary.trials_wanted = facts.progress.trials_wanted;
  summary.detail = DetailOf(*found->second);
  return summary;
}

Result<std::vector<JobSummary>> JobQueries::List(int32_t asked) const {
  const int64_t limit = asked > 0 ? std::min<int64_t>(asked, kMostListedJobs) : kListedJobs;
  std::vector<JobSummary> jobs;
  std::set<Digest> listed;
  for (const db::JobQuery& query :
       {db::JobQuery{.state = db::JobState::kRunning, .with_tasks = false},
        db::JobQuery{.state = {}, .limit = limit, .with_tasks = false}}) {
    for (const db::JobRow& row : MLC_TRY(context_.log.Jobs(query))) {
      if (listed.insert(row.id).second) jobs.push_back(SummaryNow(row));
    }
  }
  std::stable_sort(jobs.begin(), jobs.end(), [](const JobSummary& a, const JobSummary& b) {
    return a.created_us > b.created_us;
  });
  return jobs;
}

}  // namespace mlc::server
