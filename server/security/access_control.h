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

#include "server/security/caller.h"
#include "server/security/open_calls.h"

namespace mlc::server {

class AccessControl {
 public:
  virtual ~AccessControl() = default;
  // Of a call that has passed.
  virtual Caller CallerOf(const grpc::ServerContextBase& context) const = 0;
  // Runs `end` when the caller of a stream that has passed may no longer make that call ("/package.
  // Service/Method"): a certificate was revoked, a token taken back. See OpenCalls; null where
  // callers cannot be locked out. REQUIRES: the context outlives the result.
  virtual std::unique_ptr<OpenCall> Follow(const grpc::ServerContextBase& context,
                                           std::string_view rpc, OpenCalls::End end) const = 0;

  // A call that has passed has brought a message of so many bytes: they are on its connection's
  // account (base/rpc/inbound_limiter.h).
  void Received(const grpc::ServerContextBase& context, size_t bytes) const {
    if (account_) account_(context.peer(), bytes);
  }
  // `account` gets the peer and the bytes of each call. REQUIRES: no call has come yet.
  void SetTrafficObserver(std::function<void(const std::string&, size_t)> account) {
    account_ = std::move(account);
  }

 private:
  std::function<void(const std::string&, size_t)> account_;
};

// For connections without TLS.
class OpenAccess : public AccessControl {
 public:
  Caller CallerOf(const grpc::ServerContextBase&) const override { return Caller::Local(); }
  std::unique_ptr<OpenCall> Follow(const grpc::ServerContextBase&, std::string_view,
                                   OpenCalls::End) const override {
    return nullptr;
  }
};

}  // namespace mlc::server
