// A whole server: log, tuner and gRPC endpoint, started and stopped together. mlc-server runs one,
// and mlc-tune embeds the same one. Thread-safe.
#pragma once

#include <memory>
#include <string>

#include "compiler/base/status.h"
#include "server/tuner.h"

namespace mlc::server {

struct ServerOptions {
  std::string log;     // path of the tuning log
  std::string listen;  // "unix:PATH", or "HOST:PORT" on the loopback interface; port 0 picks one
  TunerOptions tuner;
};

class Server {
 public:
  // INVALID_ARGUMENT for an address that is not local: the wire is not protected. UNAVAILABLE if it
  // cannot be listened on. Errors of the log as they are.
  static Result<std::unique_ptr<Server>> Start(ServerOptions options);
  virtual ~Server() = default;

  // What workers and clients connect to.
  virtual std::string address() const = 0;
  // Health to NOT_SERVING, no new trials, waits for those under way at most `grace_ms`, answers the
  // open calls, closes the log. Once.
  virtual void Stop(int64_t grace_ms) = 0;
};

}  // namespace mlc::server
