// A job while it runs, and shortly after: what is known of it from the start, the run of its
// search, and what calls and search threads share of it.
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

// Fixed when the job comes.
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

// What changes while it runs. Reached by TunerTables::Of, and guarded by the mutex there.
struct JobFacts {
  db::JobRow row;
  int64_t started_ms = 0;  // when it came here; once it has had a worker: when it had the first
  bool has_begun = false;  // it has had one, and its time counts
  int64_t saved_ms = 0;    // when its row was last written
  int64_t ended_ms = 0;
  JobStop stop = JobStop::kNo;
  bool ended = false;
  bool caught_up = false;  // it has proposed again all that the log knows of it
  // It was submitted again meanwhile, with more to do: what follows when it has ended.
  std::optional<db::JobRow> next;
  std::vector<std::pair<Digest, Measurement>> inbox;
  JobProgress progress;
  int64_t abandoned = 0;       // trials that no worker could run
  std::string abandon_reason;  // of the last of them
  std::vector<double> floors_ns;
  std::vector<int64_t> memory_bytes;  // of each task's tensors, rounded up
};

class RunningJob {
 public:
  RunningJob(JobSpec what, JobFacts facts) : spec(std::move(what)), facts_(std::move(facts)) {}

  const JobSpec spec;
  std::unique_ptr<JobRun> run;  // of the thread whose turn it is (see SearchQueue)

 private:
  friend struct TunerTables;

  JobFacts facts_;
};

// For people: how many trials no worker could run, and why the last one; empty for none.
std::string AbandonedText(const JobFacts& facts);

}  // namespace mlc::server
