// The client side of both services: blocking calls with deadlines by the steady clock and errors as
// Status. Thread-safe except for Reconnect.
#pragma once

#include <grpcpp/client_context.h>

#include <chrono>
#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "base/rpc/channel.h"
#include "base/status.h"
#include "proto/tuner.grpc.pb.h"
#include "proto/worker.grpc.pb.h"

namespace mlc::client {

struct WatchLimits {
  // UNAVAILABLE if no message arrives for this long; a server sends several a second.
  std::optional<std::chrono::milliseconds> silence = std::nullopt;
  std::stop_token stop = {};  // ends the call at once with CANCELLED
};

class TunerClient {
 public:
  // UNAVAILABLE or UNAUTHENTICATED, with the cause, if the server cannot be reached within a few
  // seconds; errors of transport::Connection::Open.
  static Result<TunerClient> Connect(transport::ChannelOptions server);

  // Any unary call: `method` is &proto::Tuner::Stub::X or &proto::Workers::Stub::X. Calls end with
  // UNAVAILABLE if the connection is lost, and with DEADLINE_EXCEEDED if there is no answer for a
  // minute.
  template <typename Stub, typename Request, typename Reply>
  Result<Reply> Call(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Reply*),
                     const Request& request) {
    Reply reply;
    MLC_TRY(Guarded([&](grpc::ClientContext& context) {
      if constexpr (std::same_as<Stub, proto::Tuner::Stub>) {
        return (link_->tuner.get()->*method)(&context, request, &reply);
      } else {
        return (link_->workers.get()->*method)(&context, request, &reply);
      }
    }));
    return reply;
  }

  // The common calls.
  Result<proto::SubmitJobReply> Submit(const proto::SubmitJobRequest& request);
  // PERMISSION_DENIED if the caller is not an administrator.
  Result<proto::SubmitJobReply> SubmitUserKernel(const proto::SubmitUserKernelRequest& request);
  Status Cancel(const std::string& job);
  Result<proto::JobDescription> Describe(const std::string& job);
  // All running jobs and at most `limit` ended ones; newest first.
  Result<proto::ListJobsReply> List(int limit);
  Result<proto::BestReply> Best(const proto::BestRequest& request);
  Result<proto::ListWorkersReply> Workers();
  // Lets the worker finish its trials and exit. NOT_FOUND if the server does not know it.
  Status Drain(const std::string& worker, const std::string& reason);
  // Ends the quarantine of the worker.
  Status Release(const std::string& worker);

  // Calls `seen` with each message until the job ends, and returns the last one. An error of `seen`
  // ends the call and is returned.
  Result<proto::JobProgress> Watch(const std::string& job,
                                   const std::function<Status(const proto::JobProgress&)>& seen,
                                   const WatchLimits& limits = {});

  // Starts a new connection after a call that failed; Await waits for it. No other call may be
  // running. Errors of transport::Connection::Open.
  Status Reconnect();
  // Waits for a connection, at most `timeout_ms`.
  bool Await(int64_t timeout_ms) const { return link_->connection->Await(timeout_ms); }
  // The cause if the server is unreachable; see transport::Connection::Explain.
  Status Explain() const { return link_->connection->Explain(); }
  const std::string& address() const { return server_.address; }

 private:
  // One connection and its stubs.
  struct Link {
    explicit Link(std::unique_ptr<transport::Connection> opened)
        : connection(std::move(opened)),
          tuner(proto::Tuner::NewStub(connection->channel())),
          workers(proto::Workers::NewStub(connection->channel())) {}
    std::unique_ptr<transport::Connection> connection;  // outlives the stubs
    std::unique_ptr<proto::Tuner::Stub> tuner;
    std::unique_ptr<proto::Workers::Stub> workers;
  };

  explicit TunerClient(transport::ChannelOptions server) : server_(std::move(server)) {}
  // Makes a call with its deadline.
  Status Guarded(const std::function<grpc::Status(grpc::ClientContext&)>& call) const;
  // A failed status, with the address of the server added.
  Status Explained(const grpc::Status& status) const;

  transport::ChannelOptions server_;
  std::unique_ptr<Link> link_;
};

}  // namespace mlc::client
