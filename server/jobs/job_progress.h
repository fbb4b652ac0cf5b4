// Jobs for people: progress, summaries and descriptions, and progress as the log keeps it. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "db/record.h"
#include "server/jobs/submission.h"

namespace mlc::server {

// What the search of a task has reached; times in ns.
struct TaskFigures {
  int64_t trials = 0;
  double best_ns = 0;     // 0: no correct trial yet
  double default_ns = 0;  // of the default config; 0: not measured yet
  std::string best_config;
  bool done = false;
  // While there is no correct trial: what a build would use, and its predicted time; 0: unknown.
  std::string prior_config;
  double estimate_ns = 0;
  int32_t under_way = 0;  // trials that were proposed and have no result yet
};

struct JobProgress {
  db::JobState state = db::JobState::kRunning;
  std::string detail;  // why it failed or ended early, or what it waits for
  int64_t trials = 0;  // that the search has learned
  int64_t trials_wanted = 0;
  int64_t replayed = 0;  // of the learned ones, those read from the log
  std::vector<TaskFigures> tasks;
  std::vector<int64_t> outcomes;  // trials by Outcome
  int32_t workers = 0;            // in contact, of the job's class
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

// What a job was submitted with.
struct JobDescription {
  JobSummary summary;
  std::vector<SubmittedTask> tasks;
  SubmittedOptions options;
  std::vector<std::string> variants;
};

// One line of JSON with what a job's tasks have reached, for JobRow::progress. What changes without
// the job, or stands in columns of its own, is left out: state, workers, gpu_busy, under_way,
// budget_left_s.
std::string ProgressText(const JobProgress& progress);
// What the log knows of a job: its state, and what its tasks had reached when the row was written.
// A text that cannot be read, or none, gives tasks without figures.
JobProgress ProgressFrom(const db::JobRow& row);
// Of a row as it is in the log.
JobSummary SummaryOf(const db::JobRow& row);

}  // namespace mlc::server
