// The client side of the services for people: blocking calls with deadlines, our Status.
// Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "compiler/base/status.h"
#include "proto/tuner.grpc.pb.h"
#include "proto/worker.grpc.pb.h"
#include "transport/channel.h"

namespace mlc::client {

class TunerClient {
 public:
  // UNAVAILABLE or UNAUTHENTICATED, with the cause, if the server cannot be reached within a few
  // seconds; errors of transport::Connection::Open.
  static Result<TunerClient> Connect(transport::ChannelOptions server);

  Result<proto::SubmitJobReply> Submit(const proto::SubmitJobRequest& request);
  // PERMISSION_DENIED if the caller is no administrator.
  Result<proto::SubmitJobReply> SubmitRawCuda(const proto::SubmitRawCudaRequest& request);
  Status Cancel(const std::string& job);
  Result<proto::JobDescription> Describe(const std::string& job);
  // All that run, and at most `limit` of those that have ended; newest first.
  Result<proto::ListJobsReply> List(int limit);
  Result<proto::BestReply> Best(const proto::BestRequest& request);
  Result<proto::ListWorkersReply> Workers();
  // The worker finishes what it holds and leaves. NOT_FOUND if the server does not know it.
  Status Drain(const std::string& worker, const std::string& reason);
  // Ends its quarantine.
  Status Release(const std::string& worker);
  // Calls `seen` with each message until the job ends, and returns the last one. An error of `seen`
  // ends the watching and is returned.
  Result<proto::JobProgress> Watch(const std::string& job,
                                   const std::function<Status(const proto::JobProgress&)>& seen);
  // After a call that failed: waits for a connection, at most `timeout_ms`.
  bool Await(int64_t timeout_ms) const { return connection_->Await(timeout_ms); }

 private:
  explicit TunerClient(std::unique_ptr<transport::Connection> connection)
      : connection_(std::move(connection)),
        stub_(proto::Tuner::NewStub(connection_->channel())),
        workers_(proto::Workers::NewStub(connection_->channel())) {}
  std::unique_ptr<transport::Connection> connection_;
  std::unique_ptr<proto::Tuner::Stub> stub_;
  std::unique_ptr<proto::Workers::Stub> workers_;
};

}  // namespace mlc::client
