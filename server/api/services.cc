#include "server/api/services.h"

#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include "base/mutex.h"
#include "base/wire/grpc_status.h"
#include "base/wire/protocol.h"
#include "server/api/call_admission.h"
#include "server/api/call_threads.h"
#include "server/api/steady_timer.h"
#include "server/api/tuner_calls.h"

namespace mlc::server {
namespace {

// A watcher hears at most this often.
constexpr std::chrono::milliseconds kWatchInterval(200);

constexpr std::string_view kSubmitJob = "/mlc.proto.Tuner/SubmitJob";
constexpr std::string_view kSubmitUserKernel = "/mlc.proto.Tuner/SubmitUserKernel";
constexpr std::string_view kWatchJob = "/mlc.proto.Tuner/WatchJob";
constexpr std::string_view kGetJob = "/mlc.proto.Tuner/GetJob";
constexpr std::string_view kCancelJob = "/mlc.proto.Tuner/CancelJob";
constexpr std::string_view kListJobs = "/mlc.proto.Tuner/ListJobs";
constexpr std::string_view kBest = "/mlc.proto.Tuner/Best";

// A submission waits for a few commits; the others wait for it.
constexpr int kCallThreads = 2;

// Builds ask for whole models; jobs must not wait for them.
constexpr int kBestThreads = 2;

using Where = CallAdmission::Where;
using Tuners = proto::Tuner;
// Every call of the service, unparsed.
using RawTuner =
    Tuners::WithRawCallbackMethod_SubmitJob<Tuners::WithRawCallbackMethod_SubmitUserKernel<
        Tuners::WithRawCallbackMethod_WatchJob<Tuners::WithRawCallbackMethod_GetJob<
            Tuners::WithRawCallbackMethod_CancelJob<Tuners::WithRawCallbackMethod_ListJobs<
                Tuners::WithRawCallbackMethod_Best<Tuners::Service>>>>>>>;

// Writes the newest progress, waits, and again, until the job has ended, or the watcher leaves or
// is locked out. One operation is under way at any time: a write or the timer.
class Watcher : public grpc::ServerWriteReactor<grpc::ByteBuffer> {
 public:
  Watcher(const TunerCalls& calls, SteadyTimer& timer, const CallAdmission& admission,
          const grpc::CallbackServerContext& context, const grpc::ByteBuffer& wire)
      : tuner_(calls), timer_(timer) {
    proto::WatchJobRequest request;
    auto ticket = admission.TakeStream(context, kWatchJob, wire, request);
    if (!ticket.ok()) {
      Finish(ToGrpc(ticket.status()));
      return;
    }
    ticket_ = *std::move(ticket);
    job_ = request.job();
    call_ = admission.access().Follow(context, kWatchJob,
                                      [this](const Status& status) { LockOut(status); });
    Send();
  }

  void OnWriteDone(bool ok) override {
    if (!ok) return Finish(grpc::Status(grpc::StatusCode::CANCELLED, "the watcher left"));
    if (ended_) return Finish(grpc::Status::OK);
    timer_.After(kWatchInterval, [this] { Send(); });
  }
  void OnDone() override { delete this; }

 private:
  void LockOut(const Status& status) {
    const MutexLock lock(mutex_);
    locked_out_ = status;
  }
  Status LockedOut() {
    const MutexLock lock(mutex_);
    return locked_out_;
  }
  void Send() {
    if (const Status status = LockedOut(); !status.ok()) return Finish(ToGrpc(status));
    Result<proto::JobProgress> progress = tuner_.Progress(job_);
    if (!progress.ok()) return Finish(ToGrpc(progress.status()));
    // Until there is room for it, the watcher hears nothing.
    if (!ticket_->Resize(progress->ByteSizeLong()).ok()) {
      return timer_.After(kWatchInterval, [this] { Send(); });
    }
    ended_ = progress->state() != proto::RUNNING;
    progress_ = CallAdmission::ToWire(*progress);
    StartWrite(&progress_);
  }

  const TunerCalls tuner_;
  SteadyTimer& timer_;
  std::unique_ptr<CallLoad::Ticket> ticket_;
  std::string job_;
  grpc::ByteBuffer progress_;
  bool ended_ = false;  // the job, by that progress
  Mutex mutex_;
  Status locked_out_ MLC_GUARDED_BY(mutex_);  // what the stream is to end with
  std::unique_ptr<OpenCall> call_;            // goes first: uses the others
};

class TunerService : public RawTuner {
 public:
  using Context = grpc::CallbackServerContext;
  using Wire = grpc::ByteBuffer;

  TunerService(Tuner& tuner, const AccessControl& access, CallLoad& load, const Clock& clock)
      : tuner_(tuner), admission_(access, load, clock) {}

  grpc::ServerUnaryReactor* SubmitJob(Context* context, const Wire* wire, Wire* reply) override {
    return Later<proto::SubmitJobRequest>(
        context, kSubmitJob, wire, reply, [this](auto& request, UnaryCall& call) {
          const Status version = CheckProtocol("client", request.protocol());
          if (!version.ok()) return Outdated(call, version);
          call.Answer(tuner_.Submit(std::move(request), call.caller()));
        });
  }
  grpc::ServerUnaryReactor* SubmitUserKernel(Context* context, const Wire* wire,
                                             Wire* reply) override {
    return Later<proto::SubmitUserKernelRequest>(
        context, kSubmitUserKernel, wire, reply, [this](auto& request, UnaryCall& call) {
          const Status version = CheckProtocol("client", request.job().protocol());
          if (!version.ok()) return Outdated(call, version);
          call.Answer(tuner_.SubmitUserKernel(std::move(request), call.caller()));
        });
  }
  grpc::ServerWriteReactor<Wire>* WatchJob(Context* context, const Wire* wire) override {
    return new Watcher(tuner_, timer_, admission_, *context, *wire);
  }
  grpc::ServerUnaryReactor* GetJob(Context* context, const Wire* wire, Wire* reply) override {
    return Later<proto::GetJobRequest>(context, kGetJob, wire, reply,
                                       [this](const auto& request, UnaryCall& call) {
                                         call.Answer(tuner_.Describe(request.job()));
                                       });
  }
  grpc::ServerUnaryReactor* CancelJob(Context* context, const Wire* wire, Wire* reply) override {
    return Later<proto::CancelJobRequest>(
        context, kCancelJob, wire, reply, [this](const auto& request, UnaryCall& call) {
          const Status status = tuner_.tuner().Cancel(request.job(), call.caller());
          status.ok() ? call.Send(proto::CancelJobReply()) : call.Fail(status);
        });
  }
  grpc::ServerUnaryReactor* ListJobs(Context* context, const Wire* wire, Wire* reply) override {
    return Later<proto::ListJobsRequest>(
        context, kListJobs, wire, reply,
        [this](const auto& request, UnaryCall& call) { call.Answer(tuner_.List(request)); });
  }
  grpc::ServerUnaryReactor* Best(Context* context, const Wire* wire, Wire* reply) override {
    const auto ask = [this](proto::BestRequest& request, UnaryCall& call) {
      const auto begin = std::chrono::steady_clock::now();
      const Result<proto::BestReply> best = tuner_.Best(std::move(request));
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
      tuner_.tuner().metrics().Observe(Span::kBest, took.count());
      call.Answer(best);
    };
    return admission_.Take<proto::BestRequest>(context, kBest, wire, reply, builds_,
                                               Where::kThreads, ask);
  }

 private:
  template <typename Request, typename Act>
  grpc::ServerUnaryReactor* Later(Context* context, std::string_view rpc, const Wire* wire,
                                  Wire* reply, Act act) {
    return admission_.Take<Request>(context, rpc, wire, reply, calls_, Where::kThreads,
                                    std::move(act));
  }
  void Outdated(UnaryCall& call, const Status& version) {
    tuner_.tuner().metrics().AddRejected("version");
    call.Fail(version);
  }

  const TunerCalls tuner_;
  const CallAdmission admission_;
  SteadyTimer timer_;
  CallThreads builds_{kBestThreads};
  CallThreads calls_{kCallThreads};
};

}  // namespace

std::unique_ptr<grpc::Service> MakeTunerService(Tuner& tuner, const AccessControl& access,
                                                CallLoad& load, const Clock& clock) {
  return std::make_unique<TunerService>(tuner, access, load, clock);
}

}  // namespace mlc::server
