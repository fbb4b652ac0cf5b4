#include "client/service/tuner_client.h"

#include <grpcpp/grpcpp.h>

#include <utility>

#include "base/rpc/call_guard.h"
#include "base/wire/grpc_status.h"

namespace mlc::client {
namespace {

using std::chrono::seconds;

constexpr int64_t kConnectTimeoutMs = 5'000;
// Submitting checks every workload and writes to the log.
constexpr seconds kCallTimeout(60);
// For a call that may take as long as it likes.
constexpr std::chrono::hours kForever(24 * 365);

}  // namespace

Result<TunerClient> TunerClient::Connect(transport::ChannelOptions server) {
  TunerClient client(std::move(server));
  MLC_TRY(client.Reconnect());
  MLC_TRY(client.link_->connection->WaitUntilReady(kConnectTimeoutMs));
  return client;
}

Status TunerClient::Reconnect() {
  link_ = std::make_unique<Link>(MLC_TRY(transport::Connection::Open(server_)));
  return Status();
}

Status TunerClient::Explained(const grpc::Status& status) const {
  const Status ours = server::FromGrpc(status);
  return ours.code() == StatusCode::kUnavailable ? ours.WithPrefix("no answer from " + address())
                                                 : ours;
}

Status TunerClient::Guarded(const std::function<grpc::Status(grpc::ClientContext&)>& call) const {
  grpc::ClientContext context;
  const transport::CallGuard guard(context, kCallTimeout);
  const grpc::Status status = call(context);
  if (status.ok()) return Status();
  if (!guard.expired()) return Explained(status);
  return Status(StatusCode::kDeadlineExceeded,
                "no answer from " + address() + " for " + std::to_string(kCallTimeout.count()) +
                    " s: the server is overloaded or hangs; try again");
}

Result<proto::SubmitJobReply> TunerClient::Submit(const proto::SubmitJobRequest& request) {
  return Call(&proto::Tuner::Stub::SubmitJob, request);
}

Result<proto::SubmitJobReply> TunerClient::SubmitUserKernel(
    const proto::SubmitUserKernelRequest& request) {
  return Call(&proto::Tuner::Stub::SubmitUserKernel, request);
}

Status TunerClient::Cancel(const std::string& job) {
  proto::CancelJobRequest request;
  request.set_job(job);
  return Call(&proto::Tuner::Stub::CancelJob, request).status();
}

Result<proto::JobDescription> TunerClient::Describe(const std::string& job) {
  proto::GetJobRequest request;
  request.set_job(job);
  return Call(&proto::Tuner::Stub::GetJob, request);
}

Result<proto::ListJobsReply> TunerClient::List(int limit) {
  proto::ListJobsRequest request;
  request.set_limit(limit);
  return Call(&proto::Tuner::Stub::ListJobs, request);
}

Result<proto::BestReply> TunerClient::Best(const proto::BestRequest& request) {
  return Call(&proto::Tuner::Stub::Best, request);
}

Result<proto::ListWorkersReply> TunerClient::Workers() {
  return Call(&proto::Workers::Stub::ListWorkers, proto::ListWorkersRequest());
}

Status TunerClient::Drain(const std::string& worker, const std::string& reason) {
  proto::DrainWorkerRequest request;
  request.set_worker(worker);
  request.set_reason(reason);
  return Call(&proto::Workers::Stub::DrainWorker, request).status();
}

Status TunerClient::Release(const std::string& worker) {
  proto::ReleaseWorkerRequest request;
  request.set_worker(worker);
  return Call(&proto::Workers::Stub::ReleaseWorker, request).status();
}

Result<proto::JobProgress> TunerClient::Watch(
    const std::string& job, const std::function<Status(const proto::JobProgress&)>& seen,
    const WatchLimits& limits) {
  grpc::ClientContext context;
  transport::CallGuard guard(context, limits.silence.value_or(kForever), limits.stop);
  proto::WatchJobRequest request;
  request.set_job(job);
  auto reader = link_->tuner->WatchJob(&context, request);
  proto::JobProgress progress;
  while (reader->Read(&progress)) {
    guard.Renew();
    const Status status = seen(progress);
    if (status.ok()) continue;
    context.TryCancel();
    (void)reader->Finish();
    return status;
  }
  const grpc::Status status = reader->Finish();
  if (status.ok()) return progress;
  if (guard.expired()) return Unavailable("no message from " + address());
  return Explained(status);
}

}  // namespace mlc::client
