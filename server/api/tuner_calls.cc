#include "server/api/tuner_calls.h"

#include <utility>
#include <vector>

#include "base/wire/protocol.h"
#include "server/api/job_messages.h"
#include "server/api/worker_messages.h"

namespace mlc::server {

Result<proto::SubmitJobReply> TunerCalls::Submit(proto::SubmitJobRequest request,
                                                 const Caller& caller) const {
  return ToWire(MLC_TRY(tuner_.Submit(FromWire(std::move(request)), caller)));
}

Result<proto::SubmitJobReply> TunerCalls::SubmitUserKernel(proto::SubmitUserKernelRequest request,
                                                           const Caller& caller) const {
  return ToWire(MLC_TRY(tuner_.SubmitUserKernel(FromWire(std::move(request)), caller)));
}

Result<proto::JobProgress> TunerCalls::Progress(const std::string& job) const {
  return ToWire(MLC_TRY(tuner_.Progress(job)));
}

Result<proto::JobDescription> TunerCalls::Describe(const std::string& job) const {
  return ToWire(MLC_TRY(tuner_.Describe(job)));
}

Result<proto::ListJobsReply> TunerCalls::List(const proto::ListJobsRequest& request) const {
  return ToWire(MLC_TRY(tuner_.List(request.limit())));
}

Result<proto::BestReply> TunerCalls::Best(proto::BestRequest request) const {
  return ToWire(MLC_TRY(tuner_.Best(FromWire(std::move(request)))));
}

void TunerCalls::Synchronize(proto::SynchronizeRequest request, Reply reply,
                             const std::string& owner) const {
  if (const Status version = CheckProtocol("worker", request.protocol()); !version.ok()) {
    tuner_.metrics().AddRejected("version");
    return reply(version);
  }
  std::vector<std::string> malformed;
  WorkerCall call = FromWire(std::move(request), malformed);
  const std::string worker = call.worker;
  tuner_.Synchronize(
      std::move(call),
      [&tuner = tuner_, worker, reply = std::move(reply),
       malformed = std::move(malformed)](Result<WorkerOrders> orders) {
        if (!orders.ok()) return reply(orders.status());
        proto::SynchronizeReply wire = ToWire(*std::move(orders));
        for (const std::string& uid : malformed) {
          static constexpr char kWhy[] = "a task_uid has 16 bytes";
          tuner.RecordRefusal(worker, {}, kWhy);
          proto::Refusal& refusal = *wire.add_refused();
          refusal.set_task_uid(uid);
          refusal.set_reason(kWhy);
        }
        reply(std::move(wire));
      },
      owner);
}

int64_t TunerCalls::OpenSession(const proto::OpenSessionRequest& request,
                                std::function<void()> wake,
                                std::function<void()> disconnect) const {
  return tuner_.OpenSession(request.worker(), request.incarnation(), std::move(wake),
                            std::move(disconnect));
}

proto::ListWorkersReply TunerCalls::ListWorkers() const { return ToWire(tuner_.ListWorkers()); }

}  // namespace mlc::server
