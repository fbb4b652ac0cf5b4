// The calls of workers, and of people about workers.
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/wire/grpc_status.h"
#include "base/wire/protocol.h"
#include "server/api/call_admission.h"
#include "server/api/call_threads.h"
#include "server/api/services.h"
#include "server/api/tuner_calls.h"
#include "server/security/grants.h"

namespace mlc::server {
namespace {

constexpr std::string_view kSynchronize = "/mlc.proto.Workers/Synchronize";
constexpr std::string_view kOpenSession = "/mlc.proto.Workers/OpenSession";
constexpr std::string_view kListWorkers = "/mlc.proto.Workers/ListWorkers";
constexpr std::string_view kDrainWorker = "/mlc.proto.Workers/DrainWorker";
constexpr std::string_view kQuarantineWorker = "/mlc.proto.Workers/QuarantineWorker";
constexpr std::string_view kReleaseWorker = "/mlc.proto.Workers/ReleaseWorker";
// A worker sends 2 MiB of them at once, at 256 bytes and more each. Each unknown one is looked up
// in the log.
constexpr int kMostResults = 10'000;

using Where = CallAdmission::Where;
using Workers = proto::Workers;
// Every call of the service, unparsed.
using RawWorkers = Workers::WithRawCallbackMethod_Synchronize<
    Workers::WithRawCallbackMethod_OpenSession<Workers::WithRawCallbackMethod_ListWorkers<
        Workers::WithRawCallbackMethod_DrainWorker<Workers::WithRawCallbackMethod_QuarantineWorker<
            Workers::WithRawCallbackMethod_ReleaseWorker<Workers::Service>>>>>>;

// A worker's stream: one write at a time, a wake that comes meanwhile is written after it. Ends
// when the worker leaves, is disconnected or locked out; deletes itself.
class SessionStream : public grpc::ServerWriteReactor<grpc::ByteBuffer> {
 public:
  SessionStream(const TunerCalls& tuner, const proto::OpenSessionRequest& request,
                const AccessControl& access, const grpc::CallbackServerContext& context,
                std::unique_ptr<CallLoad::Ticket> ticket)
      : tuner_(tuner), ticket_(std::move(ticket)) {
    call_ =
        access.Follow(context, kOpenSession, [this](const Status& status) { End(ToGrpc(status)); });
    id_ = tuner_.OpenSession(
        request, [this] { Wake(); }, [this] { End(grpc::Status::OK); });
  }
  explicit SessionStream(const TunerCalls& tuner, const grpc::Status& refused) : tuner_(tuner) {
    End(refused);
  }

  void OnWriteDone(bool ok) override {
    const MutexLock lock(mutex_);
    writing_ = false;
    if (!ended_ && ok && again_) Write();
  }
  void OnCancel() override { End(grpc::Status(grpc::StatusCode::CANCELLED, "the worker left")); }
  void OnDone() override {
    if (id_ != 0) tuner_.tuner().Disconnected(id_);
    delete this;
  }

 private:
  void Wake() {
    const MutexLock lock(mutex_);
    if (ended_) return;
    if (writing_) {
      again_ = true;
    } else {
      Write();
    }
  }
  void Write() MLC_REQUIRES(mutex_) {
    writing_ = true;
    again_ = false;
    StartWrite(&message_);
  }
  void End(const grpc::Status& status) {
    const MutexLock lock(mutex_);
    if (std::exchange(ended_, true)) return;
    Finish(status);
  }

  const TunerCalls tuner_;
  const std::unique_ptr<CallLoad::Ticket> ticket_;
  int64_t id_ = 0;
  Mutex mutex_;
  bool writing_ MLC_GUARDED_BY(mutex_) = false;
  bool again_ MLC_GUARDED_BY(mutex_) = false;
  bool ended_ MLC_GUARDED_BY(mutex_) = false;
  const grpc::ByteBuffer message_ = CallAdmission::ToWire(proto::Wake());
  std::unique_ptr<OpenCall> call_;  // goes first: uses the others
};

class WorkersService : public RawWorkers {
 public:
  using Context = grpc::CallbackServerContext;
  using Wire = grpc::ByteBuffer;

  WorkersService(Tuner& tuner, const AccessControl& access, CallLoad& load, const Clock& clock)
      : tuner_(tuner), admission_(access, load, clock) {}

  grpc::ServerUnaryReactor* Synchronize(Context* context, const Wire* wire, Wire* reply) override {
    return admission_.Take<proto::SynchronizeRequest>(
        context, kSynchronize, wire, reply, long_calls_, Where::kHereIfSmall,
        [this](proto::SynchronizeRequest& request, UnaryCall& call) {
          if (const Status status = MaySend(call.caller(), request); !status.ok()) {
            return call.Fail(status);
          }
          if (call.caller().local) {
            return tuner_.Synchronize(
                std::move(request),
                [&call](const Result<proto::SynchronizeReply>& orders) { call.Answer(orders); });
          }
          TakeOwn(std::move(request), call);
        });
  }

  grpc::ServerWriteReactor<Wire>* OpenSession(Context* context, const Wire* wire) override {
    proto::OpenSessionRequest request;
    auto ticket = admission_.TakeStream(*context, kOpenSession, *wire, request);
    if (!ticket.ok()) return new SessionStream(tuner_, ToGrpc(ticket.status()));
    const Result<Caller> caller = admission_.access().CallerOf(*context);
    const Status own = caller.ok() ? Foreign(*caller, request.worker()) : caller.status();
    if (!own.ok()) return new SessionStream(tuner_, ToGrpc(own));
    return new SessionStream(tuner_, request, admission_.access(), *context, *std::move(ticket));
  }

  grpc::ServerUnaryReactor* ListWorkers(Context* context, const Wire* wire, Wire* reply) override {
    return Later<proto::ListWorkersRequest>(
        context, kListWorkers, wire, reply,
        [this](const auto&, UnaryCall& call) { call.Send(tuner_.ListWorkers()); });
  }
  grpc::ServerUnaryReactor* DrainWorker(Context* context, const Wire* wire, Wire* reply) override {
    return Later<proto::DrainWorkerRequest>(
        context, kDrainWorker, wire, reply, [this](const auto& request, UnaryCall& call) {
          End<proto::DrainWorkerReply>(
              call, tuner_.tuner().SetAdminHold(request.worker(), AdminHoldKind::kDrain,
                                                request.reason()));
        });
  }
  grpc::ServerUnaryReactor* QuarantineWorker(Context* context, const Wire* wire,
                                             Wire* reply) override {
    return Later<proto::QuarantineWorkerRequest>(
        context, kQuarantineWorker, wire, reply, [this](const auto& request, UnaryCall& call) {
          End<proto::QuarantineWorkerReply>(
              call, tuner_.tuner().SetAdminHold(request.worker(), AdminHoldKind::kQuarantine,
                                                request.reason()));
        });
  }
  grpc::ServerUnaryReactor* ReleaseWorker(Context* context, const Wire* wire,
                                          Wire* reply) override {
    return Later<proto::ReleaseWorkerRequest>(
        context, kReleaseWorker, wire, reply, [this](const auto& request, UnaryCall& call) {
          End<proto::ReleaseWorkerReply>(
              call, tuner_.tuner().SetAdminHold(request.worker(), AdminHoldKind::kNone, ""));
        });
  }

 private:
  template <typename Request, typename Act>
  grpc::ServerUnaryReactor* Later(Context* context, std::string_view rpc, const Wire* wire,
                                  Wire* reply, Act act) {
    return admission_.Take<Request>(context, rpc, wire, reply, calls_, Where::kThreads,
                                    std::move(act));
  }
  template <typename Reply>
  static void End(UnaryCall& call, const Status& status) {
    status.ok() ? call.Send(Reply()) : call.Fail(status);
  }

  // Of a worker that is told apart: takes the results of trials that it was given.
  void TakeOwn(proto::SynchronizeRequest&& request, UnaryCall& call) {
    std::vector<std::string> foreign = RemoveForeign(request);
    std::string worker = request.worker();
    tuner_.Synchronize(
        std::move(request),
        [this, &call, worker = std::move(worker),
         foreign = std::move(foreign)](Result<proto::SynchronizeReply> orders) {
          if (orders.ok()) RecordGrants(worker, foreign, *orders);
          call.Answer(orders);
        },
        call.caller().name);
  }
  // Records who holds the leases now, and rejects the results of others.
  void RecordGrants(const std::string& worker, const std::vector<std::string>& foreign,
                    proto::SynchronizeReply& orders) {
    for (const proto::Lease& lease : orders.leases()) grants_.Record(lease.task_uid(), worker);
    for (const std::string& uid : foreign) {
      static constexpr char kWhy[] = "the trial was given to another worker";
      tuner_.tuner().RecordRefusal(worker, DigestFromWire(uid), kWhy);
      proto::Refusal& refusal = *orders.add_refused();
      refusal.set_task_uid(uid);
      refusal.set_reason(kWhy);
    }
  }
  // Takes out results of trials that were given to others, and returns their ids.
  std::vector<std::string> RemoveForeign(proto::SynchronizeRequest& request) const {
    std::vector<std::string> foreign;
    auto& finished = *request.mutable_finished();
    const auto end = std::stable_partition(
        finished.begin(), finished.end(),
        [&](const auto& result) { return grants_.MayFinish(result.task_uid(), request.worker()); });
    for (auto result = end; result != finished.end(); ++result) {
      foreign.push_back(result->task_uid());
    }
    finished.erase(end, finished.end());
    return foreign;
  }
  Status MaySend(const Caller& caller, const proto::SynchronizeRequest& request) const {
    MLC_TRY(Foreign(caller, request.worker()));
    if (request.finished_size() <= kMostResults) return Status();
    return InvalidArgument("at most " + std::to_string(kMostResults) + " results a call");
  }
  // One worker cannot speak for another.
  Status Foreign(const Caller& caller, const std::string& worker) const {
    if (caller.RunsWorker(worker)) return Status();
    tuner_.tuner().metrics().AddRejected("denied");
    return {StatusCode::kPermissionDenied,
            caller.ToText() + " cannot speak for a worker called " + worker};
  }

  const TunerCalls tuner_;
  const CallAdmission admission_;
  Grants grants_;
  CallThreads long_calls_{1};  // heartbeats do not wait for the thousands of results of others
  CallThreads calls_{1};
};

}  // namespace

std::unique_ptr<grpc::Service> MakeWorkersService(Tuner& tuner, const AccessControl& access,
                                                  CallLoad& load, const Clock& clock) {
  return std::make_unique<WorkersService>(tuner, access, load, clock);
}

}  // namespace mlc::server
