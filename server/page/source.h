// What the live page shows and does, apart from the tuner that knows it: everything that the page
// has of the server goes through here. Messages are those of the calls, made by the same
// TunerCalls. Thread-safe.
#pragma once

#include <memory>
#include <string>

#include "base/html/markup.h"
#include "base/status.h"
#include "proto/tuner.pb.h"
#include "proto/worker.pb.h"
#include "server/security/caller.h"
#include "server/tuner/live_state.h"
#include "server/workers/admin_hold_kind.h"

namespace mlc::server {
class Tuner;
}

namespace mlc::server::page {

class PageSource {
 public:
  virtual ~PageSource() = default;

  virtual Result<proto::ListJobsReply> Jobs(int limit) const = 0;
  virtual Result<proto::JobDescription> Describe(const std::string& job) const = 0;
  virtual Result<proto::JobProgress> Progress(const std::string& job) const = 0;
  virtual Result<proto::BestReply> Best(const proto::BestRequest& request) const = 0;
  virtual proto::ListWorkersReply Workers() const = 0;
  virtual LiveState Live() const = 0;
  // The charts and tables of a job's report. Reads the log beside the tuner, for seconds.
  virtual Result<html::Markup> Report(const std::string& job) const = 0;

  // The errors of the calls.
  virtual Status Cancel(const std::string& job, const Caller& caller) = 0;
  virtual Status SetAdminHold(const std::string& worker, AdminHoldKind hold,
                              const std::string& reason) = 0;
};

// Borrows the tuner; `log` is the path of its log.
std::unique_ptr<PageSource> MakeTunerSource(Tuner& tuner, const std::string& log);

}  // namespace mlc::server::page
