// Access control: authenticates the caller of every call and checks its role. With TLS, gRPC asks
// it before any handler runs, also for methods that do not exist. Without TLS, every caller is
// local and passes. Handlers ask it who the caller is; handlers of streams also register to be told
// when the caller loses its access. Thread-safe.
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

// The credentials of a caller that does not use gRPC, such as a browser.
struct Proof {
  std::string certificate;        // PEM, verified by TLS; empty for none
  std::vector<std::string> uris;  // of the certificate
  std::string token_digest;       // TokenDigest of its bearer token; empty for none
};

class AccessControl {
 public:
  virtual ~AccessControl() = default;
  // The caller of a call that has passed. UNAUTHENTICATED, with the reason, if its token or
  // certificate was revoked since then.
  virtual Result<Caller> CallerOf(const grpc::ServerContextBase& context) const = 0;
  // Authenticates a caller that does not use gRPC; call it for each of its requests.
  // UNAUTHENTICATED if the proof is missing, unknown, expired or revoked.
  virtual Result<Caller> Identify(const Proof& proof) const = 0;
  // True if callers may authenticate with a bearer token.
  virtual bool takes_tokens() const = 0;
  // Runs `end` when the caller of an admitted stream may no longer call `rpc`
  // ("/package.Service/Method"), because its certificate or token was revoked (see OpenCalls). Null
  // if access cannot be revoked. REQUIRES: the context outlives the result.
  virtual std::unique_ptr<OpenCall> Follow(const grpc::ServerContextBase& context,
                                           std::string_view rpc, OpenCalls::End end) const = 0;

  // Observes calls, to account them to their connections (base/rpc/inbound_limiter.h). `connection`
  // identifies the connection while it lasts; null without TLS.
  struct TrafficObserver {
    // A caller began a call, before access control decides about it. Only with TLS.
    std::function<void(const void* connection)> opened;
    // An admitted call received a message of this many bytes. The first argument is the peer.
    std::function<void(const std::string&, const void* connection, size_t)> received;
  };
  // Reports the message of an admitted call, in bytes. Call it once per call.
  void Received(const grpc::ServerContextBase& context, size_t bytes) const;
  // REQUIRES: no call was received yet.
  virtual void SetTrafficObserver(TrafficObserver observer) { observer_ = std::move(observer); }

 private:
  TrafficObserver observer_;
};

// Identifies the connection of a call while the connection lasts; null without TLS. gRPC keeps one
// authentication context for all calls of a connection, so the address of a property in it is
// unique.
const void* ConnectionOf(const grpc::AuthContext& context);

// Access control without TLS: admits every caller as local.
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
