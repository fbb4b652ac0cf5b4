// Access control with TLS. The caller's identity is that of its bearer token or, without one, of a
// URI of the form spiffe://mlc/ROLE/NAME in its certificate. A revoked certificate is rejected even
// with a valid token. The policy decides about each call. Every rejection is counted and logged,
// within AuditLimits. Thread-safe.
#pragma once

#include <grpcpp/security/auth_metadata_processor.h>

#include <memory>

#include "base/clock.h"
#include "base/tls/revocations.h"
#include "server/metrics/metrics.h"
#include "server/metrics/watched_files.h"
#include "server/security/access_control.h"
#include "server/security/tokens.h"

namespace spdlog {
class logger;
}

namespace mlc::server {

class TlsAccessControl : public AccessControl {
 public:
  // Borrows the clock. Without tokens or revocations, pass nullptr.
  TlsAccessControl(const Clock& clock, std::shared_ptr<spdlog::logger> logger,
                   std::shared_ptr<Metrics> metrics, std::unique_ptr<Tokens> tokens,
                   std::unique_ptr<transport::Revocations> revoked);
  ~TlsAccessControl() override;

  Result<Caller> CallerOf(const grpc::ServerContextBase& context) const override;
  Result<Caller> Identify(const Proof& proof) const override;
  bool takes_tokens() const override;
  // The processor that gRPC asks before every call; for
  // ServerCredentials::SetAuthMetadataProcessor.
  std::shared_ptr<grpc::AuthMetadataProcessor> processor() const;
  std::unique_ptr<OpenCall> Follow(const grpc::ServerContextBase& context, std::string_view rpc,
                                   OpenCalls::End end) const override;
  void SetTrafficObserver(TrafficObserver observer) override;
  // Rereads the files of tokens and revocations if they changed, records the results in `files`,
  // and ends the streams of callers that lost their access.
  void Refresh(transport::Look look, WatchedFiles& files);

 private:
  class Processor;
  const std::shared_ptr<Processor> processor_;
};

}  // namespace mlc::server
