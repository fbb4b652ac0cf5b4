// What the search threads and the callers of a tuner share of a job. Guarded by the tuner's mutex.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/tuner/tuner.h"

namespace mlc::server {

struct Tuner::Job {
  db::JobRow row;
  JobOptions options;
  std::string target_class;
  int64_t started_ms = 0;  // when it came here; once it has had a worker: when it had the first
  bool has_begun = false;  // it has had one, and its time counts
  int64_t saved_ms = 0;    // when its row was last written
  int64_t ended_ms = 0;
  Stop stop = Stop::kNo;
  Turn turn = Turn::kIdle;
  bool ended = false;
  bool caught_up = false;  // it has proposed again all that the log knows of it
  // It was submitted again meanwhile, with more to do: what follows when it has ended.
  std::optional<db::JobRow> next;
  std::vector<std::pair<Digest, Measurement>> inbox;
  proto::JobProgress progress;
  int64_t abandoned = 0;                    // trials that no worker could run
  std::string abandon_reason;               // of the last of them
  std::vector<std::string> workload_texts;  // one per task, for leases
  std::vector<double> flops;                // of each task
  std::vector<double> bytes;
  std::vector<double> floors_ns;
  std::vector<int64_t> memory_bytes;  // of each task's tensors, rounded up
  std::unique_ptr<JobRun> run;        // of the thread whose step it is
};

}  // namespace mlc::server
