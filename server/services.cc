#include "server/services.h"

#include <grpcpp/alarm.h>

#include <utility>

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
// operation is under way at any time: a write or the alarm.
class Watcher : public grpc::ServerWriteReactor<proto::JobProgress> {
 public:
  Watcher(Tuner& tuner, std::string job) : tuner_(tuner), job_(std::move(job)) { Send(); }

  void OnWriteDone(bool ok) override {
    if (!ok) return Finish(grpc::Status(grpc::StatusCode::CANCELLED, "the watcher left"));
    if (progress_.state() != proto::RUNNING) return Finish(grpc::Status::OK);
    alarm_.Set(std::chrono::system_clock::now() + kWatchInterval, [this](bool) { Send(); });
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
  const std::string job_;
  proto::JobProgress progress_;
  grpc::Alarm alarm_;
};

class TunerService : public proto::Tuner::CallbackService {
 public:
  explicit TunerService(Tuner& tuner) : tuner_(tuner) {}

  grpc::ServerUnaryReactor* SubmitJob(grpc::CallbackServerContext* context,
                                      const proto::SubmitJobRequest* request,
                                      proto::SubmitJobReply* reply) override {
    return Answer(context, tuner_.Submit(*request), reply);
  }
  grpc::ServerWriteReactor<proto::JobProgress>* WatchJob(
      grpc::CallbackServerContext*, const proto::WatchJobRequest* request) override {
    return new Watcher(tuner_, request->job());
  }
  grpc::ServerUnaryReactor* CancelJob(grpc::CallbackServerContext* context,
                                      const proto::CancelJobRequest* request,
                                      proto::CancelJobReply*) override {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(ToGrpc(tuner_.Cancel(request->job())));
    return reactor;
  }
  grpc::ServerUnaryReactor* ListJobs(grpc::CallbackServerContext* context,
                                     const proto::ListJobsRequest*,
                                     proto::ListJobsReply* reply) override {
    return Answer(context, tuner_.List(), reply);
  }
  grpc::ServerUnaryReactor* Best(grpc::CallbackServerContext* context,
                                 const proto::BestRequest* request,
                                 proto::BestReply* reply) override {
    return Answer(context, tuner_.Best(*request), reply);
  }

 private:
  Tuner& tuner_;
};

class WorkersService : public proto::Workers::CallbackService {
 public:
  explicit WorkersService(Tuner& tuner) : tuner_(tuner) {}

  grpc::ServerUnaryReactor* Synchronize(grpc::CallbackServerContext* context,
                                        const proto::SynchronizeRequest* request,
                                        proto::SynchronizeReply* reply) override {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    tuner_.Synchronize(*request, [reactor, reply](Result<proto::SynchronizeReply> orders) {
      const grpc::Status status = ToGrpc(orders.status());
      if (orders.ok()) *reply = *std::move(orders);
      reactor->Finish(status);
    });
    return reactor;
  }

 private:
  Tuner& tuner_;
};

}  // namespace

std::unique_ptr<proto::Tuner::CallbackService> MakeTunerService(Tuner& tuner) {
  return std::make_unique<TunerService>(tuner);
}

std::unique_ptr<proto::Workers::CallbackService> MakeWorkersService(Tuner& tuner) {
  return std::make_unique<WorkersService>(tuner);
}

grpc::Status ToGrpc(const Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return {static_cast<grpc::StatusCode>(status.code()), status.message()};
}

Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return Status();
  return {static_cast<StatusCode>(status.error_code()), status.error_message()};
}

}  // namespace mlc::server
