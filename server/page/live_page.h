// The live page of a server: jobs, workers, queue and best configs for browsers, kept up to date by
// server-sent events, with the changes that a visitor may make. It adds no state to the tuner and
// asks of it what the calls ask. Thread-safe.
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "base/tls/certificates.h"
#include "server/metrics/metrics.h"
#include "server/page/feed.h"
#include "server/page/source.h"
#include "server/security/access_control.h"

namespace spdlog {
class logger;
}

namespace mlc::server::page {

struct PageOptions {
  std::string flag = "--http";   // that names `listen` for people
  std::string listen;            // HOST:PORT; empty: no page
  transport::TlsPaths tls;       // of the calls; empty: plain HTTP, for this machine alone
  bool insecure_listen = false;  // without TLS, listen beyond this machine all the same
  bool read_only = false;        // without TLS: refuses every change
  FeedTerms feed;
  const Clock* clock = &SystemClock();
};

class LivePage {
 public:
  // Borrows source and access. INVALID_ARGUMENT for an address that others can reach without TLS;
  // errors of the TLS files and of the listener.
  static Result<std::unique_ptr<LivePage>> Start(PageOptions options, PageSource& source,
                                                 const AccessControl& access,
                                                 std::shared_ptr<spdlog::logger> logger,
                                                 std::shared_ptr<Metrics> metrics);
  virtual ~LivePage() = default;

  // "http://127.0.0.1:8080/", with the port that was chosen.
  virtual std::string url() const = 0;
  // Streams that are open.
  virtual int streams() const = 0;
};

}  // namespace mlc::server::page
