// A tuner that tests and benchmarks call with messages of the wire, as services do. Thread-safe.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "server/api/tuner_calls.h"

namespace mlc::server {

class WireTuner : public Tuner {
 public:
  using Tuner::Tuner;

  Result<proto::SubmitJobReply> Submit(const proto::SubmitJobRequest& request,
                                       const Caller& caller) {
    return calls_.Submit(request, caller);
  }
  Result<proto::SubmitJobReply> SubmitUserKernel(const proto::SubmitUserKernelRequest& request,
                                                 const Caller& caller) {
    return calls_.SubmitUserKernel(request, caller);
  }
  Result<proto::JobProgress> Progress(const std::string& job) const { return calls_.Progress(job); }
  Result<proto::JobDescription> Describe(const std::string& job) const {
    return calls_.Describe(job);
  }
  Result<proto::ListJobsReply> List(const proto::ListJobsRequest& request) const {
    return calls_.List(request);
  }
  Result<proto::BestReply> Best(const proto::BestRequest& request) const {
    return calls_.Best(request);
  }
  void Synchronize(const proto::SynchronizeRequest& request, TunerCalls::Reply reply,
                   const std::string& owner = {}) {
    calls_.Synchronize(request, std::move(reply), owner);
  }
  int64_t OpenSession(const proto::OpenSessionRequest& request, std::function<void()> wake,
                      std::function<void()> disconnect) {
    return calls_.OpenSession(request, std::move(wake), std::move(disconnect));
  }
  proto::ListWorkersReply ListWorkers() const { return calls_.ListWorkers(); }

 private:
  const TunerCalls calls_{*this};
};

}  // namespace mlc::server
