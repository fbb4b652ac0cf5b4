// Progress, summaries and descriptions of jobs, and the form in which the log stores progress.
// Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "db/record.h"
#include "server/jobs/submission.h"

namespace mlc::server {

// What the search of a task has reached. Times are in ns.
struct TaskFigures {
  int64_t trials = 0;
  double best_ns = 0;     // 0: no correct trial yet
  double default_ns = 0;  // of the default config; 0: not measured yet
  std::string best_config;
  bool done = false;
  // Until there is a correct trial: the config that a build would use, and its predicted time (0:
  // unknown).
  std::string prior_config;
  double estimate_ns = 0;
  int32_t under_way = 0;  // proposed trials without a result
};

struct JobProgress {
  db::JobState state = db::JobState::kRunning;
  std::string detail;  // why it failed or ended early, or what it waits for
  int64_t trials = 0;  // results that the search has learned
  int64_t trials_wanted = 0;
  int64_t replayed = 0;  // learned results that came from the log
  std::vector<TaskFigures> tasks;
  std::vector<int64_t> outcomes;  // trials by Outcome
  int32_t workers = 0;            // of the job's class, in contact
  double elapsed_s = 0;           // since this part of the job began
  std::string target;             // with the figures of the first worker
  double gpu_busy = 0;            // share of the time of trials; 0: not reported
  double budget_left_s = 0;       // of the time budget; 0: it has none, or it has ended
};

struct JobSummary {
  std::string job;  // id
  std::string label;
  db::JobState state = db::JobState::kRunning;
  int64_t trials = 0;
  std::string target;
  int64_t created_us = 0;
  std::string owner;
  int32_t priority = 0;
  int64_t trials_wanted = 0;
  std::string detail;
  int64_t changed_us = 0;
};

// The request that the job was submitted with.
struct JobDescription {
  JobSummary summary;
  std::vector<SubmittedTask> tasks;
  SubmittedOptions options;
  std::vector<std::string> variants;
};

// The figures of the job's tasks as one line of JSON, for JobRow::progress. It leaves out what
// changes without the job or has its own column: state, workers, gpu_busy, under_way,
// budget_left_s.
std::string ProgressText(const JobProgress& progress);
// The progress that the log has of a job: its state, and the figures of its tasks when the row was
// written. If the text is empty or unreadable, the tasks have no figures.
JobProgress ProgressFrom(const db::JobRow& row);
// The summary of a row of the log.
JobSummary SummaryOf(const db::JobRow& row);

}  // namespace mlc::server
