// A whole server: log, tuner and gRPC endpoint, started and stopped together. mlc-server runs one,
// and mlc-tune embeds the same one. Thread-safe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "server/api/endpoint.h"
#include "server/page/live_page.h"
#include "server/snapshot_schedule.h"
#include "server/tuner/tuner.h"

namespace mlc::server {

struct ServerOptions {
  std::string log;  // path of the tuning log
  EndpointOptions endpoint;
  TunerOptions tuner;         // its clock is the clock of all parts
  std::string quotas;         // file of quotas, which is followed; instead of those in `tuner`
  SnapshotOptions snapshots;  // for builds that ask; none by default
  // For browsers; none by default. TLS, tokens and the clock are those of the endpoint; behind a
  // Unix socket it is read-only, because a port has no folder that protects it.
  page::PageOptions page;
};

class Server {
 public:
  // Errors of Endpoint::Open, of the log and of the quotas.
  static Result<std::unique_ptr<Server>> Start(ServerOptions options);
  virtual ~Server() = default;

  // What workers and clients connect to.
  virtual std::string address() const = 0;
  // Where browsers connect to; empty without a page.
  virtual std::string page_url() const = 0;
  // Reads certificates, tokens, revocations and quotas again.
  virtual void Reload() = 0;
  // For the fleet, which starts and stops workers; until Stop.
  virtual Demand WorkDemand() const = 0;
  // What of that demand they have no workers for: jobs that wait say so.
  virtual void SetUnservedNeeds(const std::vector<Needs>& needs) = 0;
  // Health to NOT_SERVING, no new trials, waits for those under way at most `grace_ms`, answers the
  // open calls, closes the log. Once.
  virtual void Stop(int64_t grace_ms) = 0;
};

}  // namespace mlc::server
