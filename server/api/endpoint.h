// The listening socket of the server, its TLS and access control, and the gRPC settings that a
// server needs to run for months. Thread-safe.
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
  // Binds the address, but answers no call yet. INVALID_ARGUMENT for an address that other machines
  // can reach without TLS, UNAVAILABLE if the server cannot listen on it, RESOURCE_EXHAUSTED if the
  // process may open too few files. Errors of the TLS and token files are returned unchanged.
  static Result<std::unique_ptr<Endpoint>> Open(EndpointOptions options,
                                                std::shared_ptr<spdlog::logger> logger,
                                                std::shared_ptr<Metrics> metrics);
  virtual ~Endpoint() = default;

  // The bound address, with the actual port.
  virtual const std::string& address() const = 0;
  virtual const AccessControl& access() const = 0;
  // Starts to answer calls of these services and of the health service. The services must outlive
  // Stop.
  virtual Status Serve(const std::vector<grpc::Service*>& services) = 0;
  // Sets the state that the health service reports for the service of that name; "" is the server
  // as a whole.
  virtual void SetServing(const std::string& service, bool serving) = 0;
  // Rereads certificates, tokens and revocations immediately. Without it, the endpoint rereads a
  // file within seconds of a change.
  virtual void Reload() = 0;
  // Rereads the files of tokens and revocations if they changed. A change takes effect after at
  // most two calls, so call it several times a second.
  virtual void RefreshFiles() = 0;
  // True if every watched file was usable when it was last read. Otherwise the last usable content
  // is in force.
  virtual bool files_are_valid() const = 0;
  // Writes the figures of the connections to the metrics.
  virtual void Tick() = 0;
  // Accepts no more connections and calls, gives calls in progress `grace_ms`, and returns when all
  // have ended.
  virtual void Stop(int64_t grace_ms) = 0;
};

}  // namespace mlc::server
