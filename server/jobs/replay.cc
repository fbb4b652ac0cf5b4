#include "server/jobs/replay.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "server/jobs/job_plan.h"
#include "server/jobs/search_input.h"

namespace mlc::server {
namespace {

// The job's row as its records tell it; none without records.
Result<std::optional<db::JobRow>> RowFromRecords(const db::TuningLog& log,
                                                 const JobRequest& request) {
  db::JobRow row;
  row.id = JobIdOf(request, 0);
  row.target = request.target.ToText();
  row.tasks = request.tasks;
  int64_t first_id = INT64_MAX;
  JobOptions options = request.options;
  options.trials = 0;
  db::RecordQuery query;
  query.target = request.target.ClassText();
  query.job_id = row.id;
  for (const db::JobTask& task : request.tasks) {
    query.workload = task.workload;
    const std::vector<db::Record> records = MLC_TRY(log.List(query));
    if (records.empty()) continue;
    options.trials += std::ssize(records);
    first_id = std::min(first_id, records.front().id);
  }
  if (options.trials == 0) return std::optional<db::JobRow>();
  row.watermark = first_id - 1;
  row.options = options.ToText();
  return std::optional<db::JobRow>(std::move(row));
}

Result<std::optional<db::JobRow>> RowOf(const db::TuningLog& log, const JobRequest& request) {
  std::vector<db::JobRow> rows =
      MLC_TRY(log.Jobs({.state = {}, .limit = 1, .base = JobIdOf(request, 0)}));
  if (rows.empty()) return RowFromRecords(log, request);
  return std::optional<db::JobRow>(std::move(rows.front()));
}

// Answers the run's trials until it ends, or none of what it would try next has a record.
Status Answer(const db::TuningLog& log, JobRun& run, ReplayedSearch& replayed) {
  int64_t unknown_in_a_row = 0;
  for (std::vector<Trial> trials = run.Advance(); !trials.empty(); trials = run.Advance()) {
    for (const Trial& trial : trials) {
      const std::optional<db::Record> record = MLC_TRY(log.Find(trial.uid));
      Measurement unknown;
      unknown.outcome = Outcome::kInfra;
      (void)run.Record(trial.uid, record ? record->measurement : unknown, record.has_value());
      unknown_in_a_row = record ? 0 : unknown_in_a_row + 1;
      (record ? replayed.answered : replayed.unknown) += 1;
      if (record) ++replayed.outcomes.at(static_cast<size_t>(record->measurement.outcome));
    }
    if (unknown_in_a_row >= run.plan().batch) run.Stop();
  }
  return Status();
}

}  // namespace

Result<ReplayedSearch> ReplaySearch(const db::TuningLog& log, const JobRequest& request,
                                    const StrategyFactory& strategy) {
  ReplayedSearch replayed;
  replayed.job = JobIdOf(request, 0);
  std::optional<db::JobRow> row = MLC_TRY(RowOf(log, request));
  if (!row) return replayed;
  replayed.job = row->id;
  replayed.is_known = true;
  JobOptions options = MLC_TRY(JobOptions::Parse(row->options));
  if (request.options.trials > 0) options.trials = request.options.trials;
  replayed.wanted = options.trials;
  row->options = options.ToText();
  WorkloadIndex index(log);
  SearchInput input = MLC_TRY(SearchInputOf(log, index, *row));
  JobRun::Plan plan = PlanOf(*row, options, input.target);
  JobRun run(std::move(plan), strategy(std::move(input)));
  MLC_TRY(Answer(log, run, replayed));
  replayed.detail = run.WhyEarly();
  return replayed;
}

}  // namespace mlc::server
