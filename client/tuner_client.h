// The client side of the tuner service: blocking calls with deadlines, our Status. Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "compiler/base/status.h"
#include "proto/tuner.grpc.pb.h"

namespace mlc::client {

class TunerClient {
 public:
  // UNAVAILABLE if nobody answers at the address within a few seconds.
  static Result<TunerClient> Connect(const std::string& address);

  Result<proto::SubmitJobReply> Submit(const proto::SubmitJobRequest& request);
  Status Cancel(const std::string& job);
  // Calls `seen` with each message until the job ends, and returns the last one. An error of `seen`
  // ends the watching and is returned.
  Result<proto::JobProgress> Watch(const std::string& job,
                                   const std::function<Status(const proto::JobProgress&)>& seen);

 private:
  explicit TunerClient(std::unique_ptr<proto::Tuner::Stub> stub) : stub_(std::move(stub)) {}
  std::unique_ptr<proto::Tuner::Stub> stub_;
};

}  // namespace mlc::client
