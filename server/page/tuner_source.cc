#include <utility>

#include "base/mutex.h"
#include "db/report/write_report.h"
#include "server/api/tuner_calls.h"
#include "server/page/source.h"

namespace mlc::server::page {
namespace {

class TunerSource : public PageSource {
 public:
  TunerSource(Tuner& tuner, std::string log) : calls_(tuner), log_(std::move(log)) {}

  Result<proto::ListJobsReply> Jobs(int limit) const override {
    const MutexLock turn(turn_);
    proto::ListJobsRequest request;
    request.set_limit(limit);
    return calls_.List(request);
  }
  Result<proto::JobDescription> Describe(const std::string& job) const override {
    const MutexLock turn(turn_);
    return calls_.Describe(job);
  }
  Result<proto::JobProgress> Progress(const std::string& job) const override {
    const MutexLock turn(turn_);
    return calls_.Progress(job);
  }
  Result<proto::BestReply> Best(const proto::BestRequest& request) const override {
    const MutexLock turn(turn_);
    return calls_.Best(request);
  }
  proto::ListWorkersReply Workers() const override {
    const MutexLock turn(turn_);
    return calls_.ListWorkers();
  }
  LiveState Live() const override {
    const MutexLock turn(turn_);
    return calls_.tuner().Live();
  }
  // A connection of its own to the log: it waits for no one, and no one for it.
  Result<html::Markup> Report(const std::string& job) const override {
    return report::ReportBody(log_, {job, ""});
  }
  Status Cancel(const std::string& job, const Caller& caller) override {
    return calls_.tuner().Cancel(job, caller);
  }
  Status SetAdminHold(const std::string& worker, AdminHoldKind hold,
                      const std::string& reason) override {
    return calls_.tuner().SetAdminHold(worker, hold, reason);
  }

 private:
  // One question at a time: however many pages are open, they hold up the tuner once at most.
  mutable Mutex turn_;
  const TunerCalls calls_;
  const std::string log_;
};

}  // namespace

std::unique_ptr<PageSource> MakeTunerSource(Tuner& tuner, const std::string& log) {
  return std::make_unique<TunerSource>(tuner, log);
}

}  // namespace mlc::server::page
