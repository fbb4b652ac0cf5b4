// The calls of workers, and of people about workers.
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "server/security/grants.h"
#include "server/services.h"

namespace mlc::server {
namespace {

// A worker's stream: one write at a time, a wake that comes meanwhile is written after it. Ends
// when the worker leaves, is dismissed or locked out; deletes itself.
class Attendance : public grpc::ServerWriteReactor<proto::Wake> {
 public:
  Attendance(Tuner& tuner, const proto::AttendRequest& request, const Gate& gate,
             const grpc::CallbackServerContext& context)
      : tuner_(tuner) {
    call_ = gate.Follow(context, "/mlc.proto.Workers/Attend",
                        [this](const Status& status) { End(ToGrpc(status)); });
    id_ = tuner_.Attend(
        request, [this] { Wake(); }, [this] { End(grpc::Status::OK); });
  }
  explicit Attendance(Tuner& tuner, const grpc::Status& refused) : tuner_(tuner) { End(refused); }

  void OnWriteDone(bool ok) override {
    std::lock_guard lock(mutex_);
    writing_ = false;
    if (!ended_ && ok && again_) Write();
  }
  void OnCancel() override { End(grpc::Status(grpc::StatusCode::CANCELLED, "the worker left")); }
  void OnDone() override {
    if (id_ != 0) tuner_.Left(id_);
    delete this;
  }

 private:
  void Wake() {
    std::lock_guard lock(mutex_);
    if (ended_) return;
    if (writing_) {
      again_ = true;
    } else {
      Write();
    }
  }
  void Write() {
    writing_ = true;
    again_ = false;
    StartWrite(&message_);
  }
  void End(const grpc::Status& status) {
    std::lock_guard lock(mutex_);
    if (std::exchange(ended_, true)) return;
    Finish(status);
  }

  Tuner& tuner_;
  int64_t id_ = 0;
  std::mutex mutex_;
  bool writing_ = false;
  bool again_ = false;
  bool ended_ = false;
  proto::Wake message_;
  std::unique_ptr<OpenCall> call_;  // goes first: uses the others
};

class WorkersService : public proto::Workers::CallbackService {
 public:
  WorkersService(Tuner& tuner, const Gate& gate) : tuner_(tuner), gate_(gate) {}

  grpc::ServerUnaryReactor* Synchronize(grpc::CallbackServerContext* context,
                                        const proto::SynchronizeRequest* request,
                                        proto::SynchronizeReply* reply) override {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    if (const grpc::Status foreign = Foreign(*context, request->worker()); !foreign.ok()) {
      reactor->Finish(foreign);
      return reactor;
    }
    if (gate_.CallerOf(*context).local) {
      tuner_.Synchronize(*request, [reactor, reply](Result<proto::SynchronizeReply> orders) {
        End(reactor, std::move(orders), reply);
      });
      return reactor;
    }
    std::vector<std::string> foreign;
    const proto::SynchronizeRequest own = WithoutForeign(*request, foreign);
    tuner_.Synchronize(own, [this, reactor, reply, worker = own.worker(),
                             foreign = std::move(foreign)](Result<proto::SynchronizeReply> orders) {
      if (orders.ok()) {
        for (const proto::Lease& lease : orders->leases()) grants_.Give(lease.task_uid(), worker);
        for (const std::string& uid : foreign) {
          tuner_.RefusedForeign(worker, uid);
          proto::Refusal& refusal = *orders->add_refused();
          refusal.set_task_uid(uid);
          refusal.set_reason("the trial was given to another worker");
        }
      }
      End(reactor, std::move(orders), reply);
    });
    return reactor;
  }

  grpc::ServerWriteReactor<proto::Wake>* Attend(grpc::CallbackServerContext* context,
                                                const proto::AttendRequest* request) override {
    const grpc::Status foreign = Foreign(*context, request->worker());
    return foreign.ok() ? new Attendance(tuner_, *request, gate_, *context)
                        : new Attendance(tuner_, foreign);
  }

  grpc::ServerUnaryReactor* ListWorkers(grpc::CallbackServerContext* context,
                                        const proto::ListWorkersRequest*,
                                        proto::ListWorkersReply* reply) override {
    *reply = tuner_.ListWorkers();
    return Finish(context, Status());
  }
  grpc::ServerUnaryReactor* DrainWorker(grpc::CallbackServerContext* context,
                                        const proto::DrainWorkerRequest* request,
                                        proto::DrainWorkerReply*) override {
    return Finish(context, tuner_.DrainWorker(request->worker(), request->reason()));
  }
  grpc::ServerUnaryReactor* QuarantineWorker(grpc::CallbackServerContext* context,
                                             const proto::QuarantineWorkerRequest* request,
                                             proto::QuarantineWorkerReply*) override {
    return Finish(context, tuner_.QuarantineWorker(request->worker(), request->reason()));
  }
  grpc::ServerUnaryReactor* ReleaseWorker(grpc::CallbackServerContext* context,
                                          const proto::ReleaseWorkerRequest* request,
                                          proto::ReleaseWorkerReply*) override {
    return Finish(context, tuner_.ReleaseWorker(request->worker()));
  }

 private:
  static grpc::ServerUnaryReactor* Finish(grpc::CallbackServerContext* context,
                                          const Status& status) {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(ToGrpc(status));
    return reactor;
  }
  static void End(grpc::ServerUnaryReactor* reactor, Result<proto::SynchronizeReply> orders,
                  proto::SynchronizeReply* reply) {
    const grpc::Status status = ToGrpc(orders.status());
    if (orders.ok()) *reply = *std::move(orders);
    reactor->Finish(status);
  }
  // The request without results of trials that were given to others; those go to `foreign`.
  proto::SynchronizeRequest WithoutForeign(const proto::SynchronizeRequest& request,
                                           std::vector<std::string>& foreign) const {
    proto::SynchronizeRequest own = request;
    own.clear_finished();
    for (const proto::TrialResult& result : request.finished()) {
      if (grants_.MayFinish(result.task_uid(), request.worker())) {
        *own.add_finished() = result;
      } else {
        foreign.push_back(result.task_uid());
      }
    }
    return own;
  }
  // One worker cannot speak for another.
  grpc::Status Foreign(const grpc::CallbackServerContext& context,
                       const std::string& worker) const {
    const Caller caller = gate_.CallerOf(context);
    if (caller.RunsWorker(worker)) return grpc::Status::OK;
    tuner_.metrics().AddRejected("denied");
    return {grpc::StatusCode::PERMISSION_DENIED,
            caller.ToText() + " cannot speak for a worker called " + worker};
  }

  Tuner& tuner_;
  const Gate& gate_;
  Grants grants_;
};

}  // namespace

std::unique_ptr<proto::Workers::CallbackService> MakeWorkersService(Tuner& tuner,
                                                                    const Gate& gate) {
  return std::make_unique<WorkersService>(tuner, gate);
}

}  // namespace mlc::server
