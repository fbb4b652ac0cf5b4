// Tunes what builds lacked while nothing else is to do: takes up the workloads of the log's list of
// untuned ones (db/untuned/untuned_list.h), one job of few trials after the other, and gives way as
// soon as there is another job. A job that gave way goes on later where it was. Use it from one
// thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/clock.h"
#include "db/tuning_log.h"
#include "db/untuned/untuned_list.h"
#include "server/tuner/tuner.h"

namespace mlc::server {

struct IdleTuningOptions {
  int64_t trials = 0;         // of each workload; 0: tunes nothing
  int64_t quiet_ms = 10'000;  // without another job, before it begins
};

class IdleTuning {
 public:
  // Of its jobs, in lists and quotas.
  static constexpr char kOwner[] = "idle-tuning";

  // Borrows log, tuner and clock. `path`: of the log.
  IdleTuning(std::string path, const db::TuningLog& log, Tuner& tuner, IdleTuningOptions options,
             const Clock& clock, std::shared_ptr<spdlog::logger> logger);

  // One look at the jobs: begins one, lets it be, or cancels it for another one's sake. Call it a
  // few times a second: another job waits that long for the workers, and for the trials under way.
  void Look();

 private:
  Status Act();
  bool HasWorkers(const JobSummary& job) const;
  Status NoteEnd();
  Status GiveWay();
  Status BeginNext();
  // Nothing if no listed workload can be tuned now.
  Result<std::optional<db::UntunedWorkload>> Next();

  const std::string path_;
  const db::TuningLog& log_;
  Tuner& tuner_;
  const IdleTuningOptions options_;
  const Clock& clock_;
  const std::shared_ptr<spdlog::logger> logger_;
  std::string job_;       // the one that runs; empty: none
  std::string gave_way_;  // the one that was cancelled, until nothing of it runs
  std::optional<db::UntunedWorkload> current_;         // what it tunes, also while it gives way
  std::set<std::pair<Digest, std::string>> finished_;  // since the server started
  int64_t quiet_since_ms_;
  bool has_failed_ = false;  // the last look; said once
};

}  // namespace mlc::server
