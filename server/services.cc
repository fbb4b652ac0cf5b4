#include "server/services.h"

#include <chrono>
#include <utility>

#include "server/protocol.h"
#include "server/steady_timer.h"

namespace mlc::server {
namespace {

// A watcher hears at most this often.
constexpr std::chrono::milliseconds kWatchInterval(200);

template <typename Message>
grpc::ServerUnaryReactor* Answer(grpc::CallbackServerContext* context, Result<Message> result,
                                 Message* reply) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const grpc::Status status = ToGrpc(result.status());
  if (result.ok()) *reply = *std::move(result);
  reactor->Finish(status);
  return reactor;
}

// Writes the newest progress, waits, and again, until the job has ended or the watcher leaves. One
// operation is under way at any time: a write or the timer.
class Watcher : public grpc::ServerWriteReactor<proto::JobProgress> {
 public:
  Watcher(Tuner& tuner, SteadyTimer& timer, std::string job)
      : tuner_(tuner), timer_(timer), job_(std::move(job)) {
    Send();
  }

  void OnWriteDone(bool ok) override {
    if (!ok) return Finish(grpc::Status(grpc::StatusCode::CANCELLED, "the watcher left"));
    if (progress_.state() != proto::RUNNING) return Finish(grpc::Status::OK);
    timer_.After(kWatchInterval, [this] { Send(); });
  }
  void OnDone() override { delete this; }

 private:
  void Send() {
    Result<proto::JobProgress> progress = tuner_.Progress(job_);
    if (!progress.ok()) return Finish(ToGrpc(progress.status()));
    progress_ = *std::move(progress);
    StartWrite(&progress_);
  }

  Tuner& tuner_;
  SteadyTimer& timer_;
  const std::string job_;
  proto::JobProgress progress_;
};

class TunerService : public proto::Tuner::CallbackService {
 public:
  TunerService(Tuner& tuner, const Gate& gate) : tuner_(tuner), gate_(gate) {}

  grpc::ServerUnaryReactor* SubmitJob(grpc::CallbackServerContext* context,
                                      const proto::SubmitJobRequest* request,
                                      proto::SubmitJobReply* reply) override {
    if (const Status version = CheckProtocol("client", request->protocol()); !version.ok()) {
      tuner_.metrics().AddRejected("version");
      return Answer(context, Result<proto::SubmitJobReply>(version), reply);
    }
    return Answer(context, tuner_.Submit(*request, gate_.CallerOf(*context)), reply);
  }
  grpc::ServerUnaryReactor* SubmitRawCuda(grpc::CallbackServerContext* context,
                                          const proto::SubmitRawCudaRequest* request,
                                          proto::SubmitJobReply* reply) override {
    const Status version = CheckProtocol("client", request->job().protocol());
    if (!version.ok()) {
      tuner_.metrics().AddRejected("version");
      return Answer(context, Result<proto::SubmitJobReply>(version), reply);
    }
    return Answer(context, tuner_.SubmitRawCuda(*request, gate_.CallerOf(*context)), reply);
  }
  grpc::ServerWriteReactor<proto::JobProgress>* WatchJob(
      grpc::CallbackServerContext*, const proto::WatchJobRequest* request) override {
    return new Watcher(tuner_, timer_, request->job());
  }
  grpc::ServerUnaryReactor* GetJob(grpc::CallbackServerContext* context,
                                   const proto::GetJobRequest* request,
                                   proto::JobDescription* reply) override {
    return Answer(context, tuner_.Describe(request->job()), reply);
  }
  grpc::ServerUnaryReactor* CancelJob(grpc::CallbackServerContext* context,
                                      const proto::CancelJobRequest* request,
                                      proto::CancelJobReply*) override {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(ToGrpc(tuner_.Cancel(request->job(), gate_.CallerOf(*context))));
    return reactor;
  }
  grpc::ServerUnaryReactor* ListJobs(grpc::CallbackServerContext* context,
                                     const proto::ListJobsRequest* request,
                                     proto::ListJobsReply* reply) override {
    return Answer(context, tuner_.List(*request), reply);
  }
  grpc::ServerUnaryReactor* Best(grpc::CallbackServerContext* context,
                                 const proto::BestRequest* request,
                                 proto::BestReply* reply) override {
    const auto begin = std::chrono::steady_clock::now();
    Result<proto::BestReply> best = tuner_.Best(*request);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    tuner_.metrics().Observe(Span::kBest, took.count());
    return Answer(context, std::move(best), reply);
  }

 private:
  Tuner& tuner_;
  const Gate& gate_;  // CallerOf(*context): who calls
  SteadyTimer timer_;
};

}  // namespace

std::unique_ptr<proto::Tuner::CallbackService> MakeTunerService(Tuner& tuner, const Gate& gate) {
  return std::make_unique<TunerService>(tuner, gate);
}

}  // namespace mlc::server
