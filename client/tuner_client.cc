#include "client/tuner_client.h"

#include <grpcpp/grpcpp.h>

#include <chrono>

#include "server/services.h"

namespace mlc::client {
namespace {

constexpr std::chrono::seconds kConnectTimeout(5);
// Submitting checks every workload and writes to the log.
constexpr std::chrono::seconds kCallTimeout(60);
constexpr int kMaxMessageBytes = 64 << 20;

void SetDeadline(grpc::ClientContext& context) {
  context.set_deadline(std::chrono::system_clock::now() + kCallTimeout);
}

}  // namespace

Result<TunerClient> TunerClient::Connect(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 10'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 5'000);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  auto channel = grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
  if (!channel->WaitForConnected(std::chrono::system_clock::now() + kConnectTimeout)) {
    return Unavailable("no mlc-server answers at " + address +
                       ": start it, or leave --server out to tune on this machine");
  }
  return TunerClient(proto::Tuner::NewStub(channel));
}

Result<proto::SubmitJobReply> TunerClient::Submit(const proto::SubmitJobRequest& request) {
  grpc::ClientContext context;
  SetDeadline(context);
  proto::SubmitJobReply reply;
  MLC_TRY(server::FromGrpc(stub_->SubmitJob(&context, request, &reply)));
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
