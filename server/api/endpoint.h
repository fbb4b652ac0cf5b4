// Where calls come in: the listening socket, its protection, and the settings of gRPC that keep a
// server alive for months. Thread-safe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "base/tls/certificates.h"
#include "server/metrics/metrics.h"
#include "server/security/access_control.h"

namespace grpc {
class Service;
}
namespace spdlog {
class logger;
}

namespace mlc::server {

struct EndpointOptions {
  std::string listen;            // "unix:PATH", or "HOST:PORT"; port 0 picks one
  transport::TlsPaths tls;       // certificate, key and authority, or none
  std::string tokens;            // file of tokens, see security/tokens.h; needs TLS
  bool insecure_listen = false;  // without TLS, listen beyond this machine all the same
  bool reflection = false;       // answer grpc.reflection
  const Clock* clock = &SystemClock();
};

class Endpoint {
 public:
  // Binds the address; no call is answered yet. INVALID_ARGUMENT for an address that others can
  // reach without TLS, UNAVAILABLE if it cannot be listened on, RESOURCE_EXHAUSTED if the process
  // may open too few files; errors of the TLS files and tokens as they are.
  static Result<std::unique_ptr<Endpoint>> Open(EndpointOptions options,
                                                std::shared_ptr<spdlog::logger> logger,
                                                std::shared_ptr<Metrics> metrics);
  virtual ~Endpoint() = default;

  // With the port that was chosen.
  virtual const std::string& address() const = 0;
  virtual const AccessControl& access() const = 0;
  // Answers calls of these services and of health. The services must outlive Stop.
  virtual Status Serve(const std::vector<grpc::Service*>& services) = 0;
  // What the health service says: of everything (""), or of the service of that name.
  virtual void SetServing(const std::string& service, bool serving) = 0;
  // Reads certificates, tokens and revocations again now; else it happens within seconds of a
  // change.
  virtual void Reload() = 0;
  // Rereads the files of tokens and revocations if they changed. A change takes two calls at most,
  // so call it several times a second.
  virtual void RefreshFiles() = 0;
  // All files that it follows can be used; else the old ones are in force.
  virtual bool files_are_valid() const = 0;
  // Figures of the connections into the metrics.
  virtual void Tick() = 0;
  // No more connections and calls; those under way have `grace_ms`. Returns when all have ended.
  virtual void Stop(int64_t grace_ms) = 0;
};

}  // namespace mlc::server
