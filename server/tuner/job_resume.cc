// Jobs that the log brings back, but for those that the server does not survive: what a search
// computes from, workloads and records, is other people's, and a defect of ours that they reach
// would bring the server down again after every restart.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "server/jobs/crash_marker.h"
#include "server/tuner/job_admission.h"

namespace mlc::server {
namespace {

// A machine may be broken, too.
constexpr int32_t kMostCrashes = 3;

std::string WhyNotAgain(const db::JobRow& row) {
  return "the server crashed " + std::to_string(row.crashes) +
         " times while it computed for this job, and does not go on with it: its workloads reach a "
         "defect of the server; what it wrote when it crashed helps to find it; submit the job "
         "again to have it tried once more";
}

}  // namespace

// A job of the log that cannot be read does not keep the others, or the server, from their work.
Status JobAdmission::Resume() {
  const std::vector<Digest> crashed = CrashedJobs(context_.options.crash_marker);
  for (db::JobRow& row : MLC_TRY(context_.log.Jobs({.state = db::JobState::kRunning}))) {
    const auto crashes = std::count(crashed.begin(), crashed.end(), row.id);
    row.crashes += static_cast<int32_t>(crashes);
    if (crashes > 0) {
      context_.logger().error("job={}: the server crashed when it computed for it",
                              row.id.ToText());
      MLC_TRY(context_.log.PutJob(row));
    }
    const ScopedCrashJob at_work(row.id);
    const Status status =
        row.crashes < kMostCrashes ? Start(row) : FailedPrecondition(WhyNotAgain(row));
    if (status.ok()) {
      context_.logger().info("job={} goes on", row.id.ToText());
      continue;
    }
    context_.logger().error("job={} cannot go on: {}", row.id.ToText(), status.ToString());
    row.state = db::JobState::kFailed;
    row.detail = "cannot go on: " + status.message();
    row.changed_us = context_.WallUs();
    MLC_TRY(context_.log.PutJob(row));
  }
  ClearCrashMarker(context_.options.crash_marker);
  return Status();
}

}  // namespace mlc::server
