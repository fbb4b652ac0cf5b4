// The calls of the tuner on wire messages: converts the request to values, calls the tuner and
// converts the answer. No part of the server below server/api depends on message types.
// Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/status.h"
#include "proto/tuner.pb.h"
#include "proto/worker.pb.h"
#include "server/security/caller.h"
#include "server/tuner/tuner.h"

namespace mlc::server {

// Errors are those of the function of Tuner of the same name.
class TunerCalls {
 public:
  using Reply = std::function<void(Result<proto::SynchronizeReply>)>;

  // Borrows the tuner.
  explicit TunerCalls(Tuner& tuner) : tuner_(tuner) {}

  Result<proto::SubmitJobReply> Submit(proto::SubmitJobRequest request, const Caller& caller) const;
  Result<proto::SubmitJobReply> SubmitUserKernel(proto::SubmitUserKernelRequest request,
                                                 const Caller& caller) const;
  Result<proto::JobProgress> Progress(const std::string& job) const;
  Result<proto::JobDescription> Describe(const std::string& job) const;
  Result<proto::ListJobsReply> List(const proto::ListJobsRequest& request) const;
  Result<proto::BestReply> Best(proto::BestRequest request) const;
  // FAILED_PRECONDITION for another version of the protocol.
  void Synchronize(proto::SynchronizeRequest request, Reply reply,
                   const std::string& owner = {}) const;
  int64_t OpenSession(const proto::OpenSessionRequest& request, std::function<void()> wake,
                      std::function<void()> disconnect) const;
  proto::ListWorkersReply ListWorkers() const;

  Tuner& tuner() const { return tuner_; }

 private:
  Tuner& tuner_;
};

}  // namespace mlc::server
