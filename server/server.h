// A complete server: log, tuner and gRPC endpoint, started and stopped together. mlc-server runs
// one, and mlc-tune embeds one. Thread-safe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "server/api/endpoint.h"
#include "server/idle_tuning.h"
#include "server/page/live_page.h"
#include "server/snapshot_schedule.h"
#include "server/tuner/tuner.h"

namespace mlc::server {

struct ServerOptions {
  std::string log;  // path of the tuning log
  EndpointOptions endpoint;
  TunerOptions tuner;         // all parts use its clock
  std::string quotas;         // quota file, watched for changes; replaces those in `tuner`
  SnapshotOptions snapshots;  // for build machines; none by default
  IdleTuningOptions idle;     // what to do while there are no jobs; nothing by default
  // The live page for browsers; none by default. It uses TLS, tokens and clock of the endpoint. If
  // the endpoint is a Unix socket, the page is read-only, because no folder protects its port.
  page::PageOptions page;
};

class Server {
 public:
  // Errors of Endpoint::Open, of the log and of the quotas.
  static Result<std::unique_ptr<Server>> Start(ServerOptions options);
  virtual ~Server() = default;

  // The address for workers and clients.
  virtual std::string address() const = 0;
  // The address for browsers; empty without a page.
  virtual std::string page_url() const = 0;
  // Rereads certificates, tokens, revocations and quotas.
  virtual void Reload() = 0;
  // The demand for workers, for the fleet. Call it only before Stop.
  virtual Demand WorkDemand() const = 0;
  // Sets the part of the demand that the fleet has no workers for. Jobs that wait for it report
  // that.
  virtual void SetUnservedNeeds(const std::vector<Needs>& needs) = 0;
  // Sets the health service to NOT_SERVING, hands out no new trials, waits at most `grace_ms` for
  // trials in progress, answers the open calls and closes the log. Call it once.
  virtual void Stop(int64_t grace_ms) = 0;
};

}  // namespace mlc::server
