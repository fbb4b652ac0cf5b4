// Access control of every call: authenticates the caller and checks the role. Over TLS gRPC asks it
// before any handler, also for methods that do not exist; without TLS every caller is local and
// passes. Handlers ask it who the caller is, and those of streams to be told when that one is
// locked out. Thread-safe.
#pragma once

#include <grpcpp/server_context.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/security/caller.h"
#include "server/security/open_calls.h"

namespace mlc::server {

// What a caller who does not come through gRPC shows of itself.
struct Proof {
  std::string certificate;        // PEM, verified by TLS; empty for none
  std::vector<std::string> uris;  // of the certificate
  std::string token_digest;       // TokenDigest of its bearer token; empty for none
};

class AccessControl {
 public:
  virtual ~AccessControl() = default;
  // Of a call that has passed. UNAUTHENTICATED, with the reason, when the caller's token or
  // certificate was revoked since then.
  virtual Result<Caller> CallerOf(const grpc::ServerContextBase& context) const = 0;
  // The same for who comes by another way, at each of its requests: UNAUTHENTICATED for a proof
  // that is missing, unknown, expired or revoked.
  virtual Result<Caller> Identify(const Proof& proof) const = 0;
  // Whether a bearer token can be a proof.
  virtual bool takes_tokens() const = 0;
  // Runs `end` when the caller of a stream that has passed may no longer make that call ("/package.
  // Service/Method"): a certificate was revoked, a token taken back. See OpenCalls; null where
  // callers cannot be locked out. REQUIRES: the context outlives the result.
  virtual std::unique_ptr<OpenCall> Follow(const grpc::ServerContextBase& context,
                                           std::string_view rpc, OpenCalls::End end) const = 0;

  // Is told of calls, for the accounts of their connections (base/rpc/inbound_limiter.h). The
  // second argument names the connection while it lasts: null without TLS.
  struct TrafficObserver {
    // A caller began a call, whatever access control makes of it. Only with TLS.
    std::function<void(const void* connection)> opened;
    // A call has passed and brought a message of so many bytes; the first argument is the peer.
    std::function<void(const std::string&, const void* connection, size_t)> received;
  };
  // A call that has passed has brought a message of so many bytes. Tell it once of each call.
  void Received(const grpc::ServerContextBase& context, size_t bytes) const;
  // REQUIRES: no call has come yet.
  virtual void SetTrafficObserver(TrafficObserver observer) { observer_ = std::move(observer); }

 private:
  TrafficObserver observer_;
};

// Names the connection of a call, while the connection lasts. gRPC keeps one context for all calls
// of a connection, so the place of a property in memory does. Null without TLS.
const void* ConnectionOf(const grpc::AuthContext& context);

// For connections without TLS.
class OpenAccess : public AccessControl {
 public:
  Result<Caller> CallerOf(const grpc::ServerContextBase&) const override { return Caller::Local(); }
  Result<Caller> Identify(const Proof&) const override { return Caller::Local(); }
  bool takes_tokens() const override { return false; }
  std::unique_ptr<OpenCall> Follow(const grpc::ServerContextBase&, std::string_view,
                                   OpenCalls::End) const override {
    return nullptr;
  }
};

}  // namespace mlc::server
