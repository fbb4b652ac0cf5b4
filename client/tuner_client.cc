#include "client/tuner_client.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <utility>

#include "server/grpc_status.h"

namespace mlc::client {
namespace {

constexpr int64_t kConnectTimeoutMs = 5'000;
// Submitting checks every workload and writes to the log.
constexpr std::chrono::seconds kCallTimeout(60);

void SetDeadline(grpc::ClientContext& context) {
  context.set_deadline(std::chrono::system_clock::now() + kCallTimeout);
}

}  // namespace

Result<TunerClient> TunerClient::Connect(transport::ChannelOptions server) {
  auto connection = MLC_TRY(transport::Connection::Open(std::move(server)));
  MLC_TRY(connection->WaitUntilReady(kConnectTimeoutMs));
  return TunerClient(std::move(connection));
}

Result<proto::SubmitJobReply> TunerClient::Submit(const proto::SubmitJobRequest& request) {
  grpc::ClientContext context;
  SetDeadline(context);
  proto::SubmitJobReply reply;
  MLC_TRY(server::FromGrpc(stub_->SubmitJob(&context, request, &reply)));
  return reply;
}

Result<proto::SubmitJobReply> TunerClient::SubmitRawCuda(
    const proto::SubmitRawCudaRequest& request) {
  grpc::ClientContext context;
  SetDeadline(context);
  proto::SubmitJobReply reply;
  MLC_TRY(server::FromGrpc(stub_->SubmitRawCuda(&context, request, &reply)));
  return reply;
}

Status TunerClient::Cancel(const std::string& job) {
  grpc::ClientContext context;
  SetDeadline(context);
  proto::CancelJobRequest request;
  request.set_job(job);
  proto::CancelJobReply reply;
  return server::FromGrpc(stub_->CancelJob(&context, request, &reply));
}

Result<proto::JobDescription> TunerClient::Describe(const std::string& job) {
  grpc::ClientContext context;
  SetDeadline(context);
  proto::GetJobRequest request;
  request.set_job(job);
  proto::JobDescription reply;
  MLC_TRY(server::FromGrpc(stub_->GetJob(&context, request, &reply)));
  return reply;
}

Result<proto::ListJobsReply> TunerClient::List(int limit) {
  grpc::ClientContext context;
  SetDeadline(context);
  proto::ListJobsRequest request;
  request.set_limit(limit);
  proto::ListJobsReply reply;
  MLC_TRY(server::FromGrpc(stub_->ListJobs(&context, request, &reply)));
  return reply;
}

Result<proto::BestReply> TunerClient::Best(const proto::BestRequest& request) {
  grpc::ClientContext context;
  SetDeadline(context);
  proto::BestReply reply;
  MLC_TRY(server::FromGrpc(stub_->Best(&context, request, &reply)));
  return reply;
}

Result<proto::ListWorkersReply> TunerClient::Workers() {
  grpc::ClientContext context;
  SetDeadline(context);
  proto::ListWorkersReply reply;
  MLC_TRY(server::FromGrpc(workers_->ListWorkers(&context, {}, &reply)));
  return reply;
}

Status TunerClient::Drain(const std::string& worker, const std::string& reason) {
  grpc::ClientContext context;
  SetDeadline(context);
  proto::DrainWorkerRequest request;
  request.set_worker(worker);
  request.set_reason(reason);
  proto::DrainWorkerReply reply;
  return server::FromGrpc(workers_->DrainWorker(&context, request, &reply));
}

Status TunerClient::Release(const std::string& worker) {
  grpc::ClientContext context;
  SetDeadline(context);
  proto::ReleaseWorkerRequest request;
  request.set_worker(worker);
  proto::ReleaseWorkerReply reply;
  return server::FromGrpc(workers_->ReleaseWorker(&context, request, &reply));
}

Result<proto::JobProgress> TunerClient::Watch(
    const std::string& job, const std::function<Status(const proto::JobProgress&)>& seen) {
  grpc::ClientContext context;
  proto::WatchJobRequest request;
  request.set_job(job);
  auto reader = stub_->WatchJob(&context, request);
  proto::JobProgress progress;
  while (reader->Read(&progress)) {
    const Status status = seen(progress);
    if (status.ok()) continue;
    context.TryCancel();
    (void)reader->Finish();
    return status;
  }
  MLC_TRY(server::FromGrpc(reader->Finish()));
  return progress;
}

}  // namespace mlc::client
