#include "server/services.h"

#include <chrono>
#include <mutex>
#include <utility>

#include "server/call_threads.h"
#include "server/protocol.h"
#include "server/steady_timer.h"

namespace mlc::server {
namespace {

// A watcher hears at most this often.
constexpr std::chrono::milliseconds kWatchInterval(200);

// A submission waits for a few commits; the others wait for it.
constexpr int kCallThreads = 2;

template <typename Message>
void Answer(grpc::ServerUnaryReactor* reactor, Result<Message> result, Message* reply) {
  const grpc::Status status = ToGrpc(result.status());
  if (result.ok()) *reply = *std::move(result);
  reactor->Finish(status);
}

template <typename Message>
grpc::ServerUnaryReactor* AnswerNow(grpc::CallbackServerContext* context, Result<Message> result,
                                    Message* reply) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  Answer(reactor, std::move(result), reply);
  return reactor;
}

// Writes the newest progress, waits, and again, until the job has ended, or the watcher leaves or
// is locked out. One operation is under way at any time: a write or the timer.
class Watcher : public grpc::ServerWriteReactor<proto::JobProgress> {
 public:
  Watcher(Tuner& tuner, SteadyTimer& timer, std::string job, const Gate& gate,
          const grpc::CallbackServerContext& context)
      : tuner_(tuner), timer_(timer), job_(std::move(job)) {
    call_ = gate.Follow(context, "/mlc.proto.Tuner/WatchJob",
                        [this](const Status& status) { LockOut(status); });
    Send();
  }

  void OnWriteDone(bool ok) override {
    if (!ok) return Finish(grpc::Status(grpc::StatusCode::CANCELLED, "the watcher left"));
    if (progress_.state() != proto::RUNNING) return Finish(grpc::Status::OK);
    timer_.After(kWatchInterval, [this] { Send(); });
  }
  void OnDone() override { delete this; }

 private:
  void LockOut(const Status& status) {
    std::lock_guard lock(mutex_);
    locked_out_ = status;
  }
  Status LockedOut() {
    std::lock_guard lock(mutex_);
    return locked_out_;
  }
  void Send() {
    if (const Status status = LockedOut(); !status.ok()) return Finish(ToGrpc(status));
    Result<proto::JobProgress> progress = tuner_.Progress(job_);
    if (!progress.ok()) return Finish(ToGrpc(progress.status()));
    progress_ = *std::move(progress);
    StartWrite(&progress_);
  }

  Tuner& tuner_;
  SteadyTimer& timer_;
  const std::string job_;
  proto::JobProgress progress_;
  std::mutex mutex_;
  Status locked_out_;               // what the stream is to end with
  std::unique_ptr<OpenCall> call_;  // goes first: uses the others
};

class TunerService : public proto::Tuner::CallbackService {
 public:
  TunerService(Tuner& tuner, const Gate& gate) : tuner_(tuner), gate_(gate) {}

  grpc::ServerUnaryReactor* SubmitJob(grpc::CallbackServerContext* context,
                                      const proto::SubmitJobRequest* request,
                                      proto::SubmitJobReply* reply) override {
    if (const Status version = CheckProtocol("client", request->protocol()); !version.ok()) {
      tuner_.metrics().AddRejected("version");
      return AnswerNow(context, Result<proto::SubmitJobReply>(version), reply);
    }
    return Later(context, reply, [this, request, caller = gate_.CallerOf(*context)] {
      return tuner_.Submit(*request, caller);
    });
  }
  grpc::ServerUnaryReactor* SubmitRawCuda(grpc::CallbackServerContext* context,
                                          const proto::SubmitRawCudaRequest* request,
                                          proto::SubmitJobReply* reply) override {
    const Status version = CheckProtocol("client", request->job().protocol(), kRawCudaProtocol);
    if (!version.ok()) {
      tuner_.metrics().AddRejected("version");
      return AnswerNow(context, Result<proto::SubmitJobReply>(version), reply);
    }
    return Later(context, reply, [this, request, caller = gate_.CallerOf(*context)] {
      return tuner_.SubmitRawCuda(*request, caller);
    });
  }
  grpc::ServerWriteReactor<proto::JobProgress>* WatchJob(
      grpc::CallbackServerContext* context, const proto::WatchJobRequest* request) override {
    return new Watcher(tuner_, timer_, request->job(), gate_, *context);
  }
  grpc::ServerUnaryReactor* GetJob(grpc::CallbackServerContext* context,
                                   const proto::GetJobRequest* request,
                                   proto::JobDescription* reply) override {
    return Later(context, reply, [this, request] { return tuner_.Describe(request->job()); });
  }
  grpc::ServerUnaryReactor* CancelJob(grpc::CallbackServerContext* context,
                                      const proto::CancelJobRequest* request,
                                      proto::CancelJobReply* reply) override {
    const auto cancel = [this, request, caller = gate_.CallerOf(*context)] {
      const Status status = tuner_.Cancel(request->job(), caller);
      return status.ok() ? Result<proto::CancelJobReply>(proto::CancelJobReply()) : status;
    };
    return Later(context, reply, cancel);
  }
  grpc::ServerUnaryReactor* ListJobs(grpc::CallbackServerContext* context,
                                     const proto::ListJobsRequest* request,
                                     proto::ListJobsReply* reply) override {
    return Later(context, reply, [this, request] { return tuner_.List(*request); });
  }
  grpc::ServerUnaryReactor* Best(grpc::CallbackServerContext* context,
                                 const proto::BestRequest* request,
                                 proto::BestReply* reply) override {
    const auto ask = [this, request] {
      const auto begin = std::chrono::steady_clock::now();
      Result<proto::BestReply> best = tuner_.Best(*request);
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
      tuner_.metrics().Observe(Span::kBest, took.count());
      return best;
    };
    // Near misses are looked for among all workloads of the log.
    if (request->texts_size() > 0) return Later(context, reply, ask);
    return AnswerNow(context, ask(), reply);
  }

 private:
  // gRPC keeps request, reply and context until the call has finished.
  template <typename Message, typename Ask>
  grpc::ServerUnaryReactor* Later(grpc::CallbackServerContext* context, Message* reply, Ask ask) {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    calls_.Run([reactor, reply, ask = std::move(ask)] { Answer(reactor, ask(), reply); });
    return reactor;
  }

  Tuner& tuner_;
  const Gate& gate_;
  SteadyTimer timer_;
  CallThreads calls_{kCallThreads};
};

}  // namespace

std::unique_ptr<proto::Tuner::CallbackService> MakeTunerService(Tuner& tuner, const Gate& gate) {
  return std::make_unique<TunerService>(tuner, gate);
}

}  // namespace mlc::server
