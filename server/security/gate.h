// The gate in front of every call: who is it, and does their role suffice. Over TLS gRPC asks it
// before any handler, also for methods that do not exist; without TLS everyone is local and passes.
// Handlers ask it only who the caller is. Thread-safe.
#pragma once

#include <grpcpp/server_context.h>

#include "server/security/caller.h"

namespace mlc::server {

class Gate {
 public:
  virtual ~Gate() = default;
  // Of a call that has passed.
  virtual Caller CallerOf(const grpc::ServerContextBase& context) const = 0;
};

// For connections without TLS.
class OpenGate : public Gate {
 public:
  Caller CallerOf(const grpc::ServerContextBase&) const override { return Caller::Local(); }
};

}  // namespace mlc::server
