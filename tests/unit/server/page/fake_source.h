// A server that the live page can show: one job, one worker, and a note of what was asked for.
#pragma once

#include <string>
#include <vector>

#include "base/mutex.h"
#include "server/page/source.h"

namespace mlc::server::page {

inline constexpr char kJob[] = "0123456789abcdef0123456789abcdef";

class FakeSource : public PageSource {
 public:
  Result<proto::ListJobsReply> Jobs(int) const override {
    proto::ListJobsReply reply;
    *reply.add_jobs() = Summary();
    return reply;
  }
  Result<proto::JobDescription> Describe(const std::string& job) const override {
    if (job != kJob) return NotFound("there is no job " + job);
    proto::JobDescription description;
    *description.mutable_summary() = Summary();
    return description;
  }
  Result<proto::JobProgress> Progress(const std::string&) const override {
    proto::JobProgress progress;
    const MutexLock lock(mutex_);
    progress.set_trials(trials_);
    progress.set_trials_wanted(100);
    return progress;
  }
  Result<proto::BestReply> Best(const proto::BestRequest&) const override {
    return proto::BestReply();
  }
  proto::ListWorkersReply Workers() const override {
    proto::ListWorkersReply reply;
    proto::WorkerLine& line = *reply.add_workers();
    line.set_worker("w&1");
    line.set_state(proto::QUARANTINED);
    line.set_reason("<i>wrong</i> results");
    return reply;
  }
  LiveState Live() const override {
    LiveState live;
    live.workers["w&1"].clock_mhz = 1980;
    live.workers["w&1"].held.push_back({kJob, "resnet", 3, 2'000});
    live.queues.push_back({"cpu", {{kJob, "resnet", "ada", 5, 7, 2}}, {{"ada", 12, 2, 1}}});
    return live;
  }
  Result<html::Markup> Report(const std::string&) const override {
    return html::Paragraph("the charts");
  }
  Status Cancel(const std::string& job, const Caller& caller) override {
    return Note("cancel " + job + " by " + caller.name);
  }
  Status SetAdminHold(const std::string& worker, AdminHoldKind hold,
                      const std::string& reason) override {
    switch (hold) {
      case AdminHoldKind::kNone:
        return Note("release " + worker);
      case AdminHoldKind::kDrain:
        return Note("drain " + worker + ": " + reason);
      case AdminHoldKind::kQuarantine:
        return Note("quarantine " + worker + ": " + reason);
    }
    return Status();
  }

  void SetTrials(int64_t trials) {
    const MutexLock lock(mutex_);
    trials_ = trials;
  }
  std::vector<std::string> done() const {
    const MutexLock lock(mutex_);
    return done_;
  }

 private:
  static proto::JobSummary Summary() {
    proto::JobSummary job;
    job.set_job(kJob);
    job.set_label("<script>alert('x')</script>");
    job.set_owner("ada");
    job.set_trials_wanted(100);
    return job;
  }
  Status Note(const std::string& what) {
    const MutexLock lock(mutex_);
    done_.push_back(what);
    return Status();
  }

  mutable Mutex mutex_;
  int64_t trials_ MLC_GUARDED_BY(mutex_) = 1;
  std::vector<std::string> done_ MLC_GUARDED_BY(mutex_);
};

}  // namespace mlc::server::page
