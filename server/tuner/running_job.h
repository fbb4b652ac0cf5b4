// A job while it runs and shortly after: its specification, the run of its search, and the state
// that calls and search threads share.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "db/record.h"
#include "server/jobs/job.h"
#include "server/jobs/job_progress.h"
#include "server/jobs/job_request.h"

namespace mlc::server {

struct TunerTables;

// What is fixed when the job is admitted.
struct JobSpec {
  Digest id;
  JobOptions options;
  std::string target_class;
  std::vector<db::JobTask> tasks;
  std::vector<std::string> workload_texts;  // one per task, for leases
  std::vector<double> flops;                // of each task
  std::vector<double> bytes;
};

enum class JobStop : uint8_t { kNo, kCancelled, kTimeOver, kDraining };

// What changes while the job runs. Access it through TunerTables::Of; the mutex of the tables
// guards it.
struct JobFacts {
  db::JobRow row;
  int64_t started_ms = 0;  // time of admission; from the first worker on: time of that worker
  bool has_begun = false;  // it has had a worker, so its time budget counts
  int64_t saved_ms = 0;    // when its row was last written
  int64_t ended_ms = 0;
  JobStop stop = JobStop::kNo;
  bool ended = false;
  bool caught_up = false;  // it has proposed all its trials of the log again
  // The row of a later submission of the same job with more trials. The job continues with it after
  // this run.
  std::optional<db::JobRow> next;
  std::vector<std::pair<Digest, Measurement>> inbox;
  JobProgress progress;
  int64_t abandoned = 0;       // trials that no worker could run
  std::string abandon_reason;  // reason of the last abandoned trial
  std::vector<double> floors_ns;
  std::vector<int64_t> memory_bytes;  // of each task's tensors, rounded up
};

class RunningJob {
 public:
  RunningJob(JobSpec what, JobFacts facts) : spec(std::move(what)), facts_(std::move(facts)) {}

  const JobSpec spec;
  std::unique_ptr<JobRun> run;  // used only by the thread that took the job (see SearchQueue)

 private:
  friend struct TunerTables;

  JobFacts facts_;
};

// The number of trials that no worker could run and the last reason, for display; empty if there
// are none.
std::string AbandonedText(const JobFacts& facts);

}  // namespace mlc::server
