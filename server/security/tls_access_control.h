// Access control with TLS: the caller is named by its bearer token or, without one, by its
// certificate, by a URI of the form spiffe://mlc/ROLE/NAME. A revoked certificate is rejected,
// whatever the token says. The policy decides. Every rejection is counted and
// leaves a line in the log, within AuditLimits. Thread-safe.
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
  // What gRPC asks before every call; for ServerCredentials::SetAuthMetadataProcessor.
  std::shared_ptr<grpc::AuthMetadataProcessor> processor() const;
  std::unique_ptr<OpenCall> Follow(const grpc::ServerContextBase& context, std::string_view rpc,
                                   OpenCalls::End end) const override;
  void SetTrafficObserver(TrafficObserver observer) override;
  // Looks at the files of tokens and revocations, and notes how that went. Ends the streams of
  // those who are not let in any more.
  void Refresh(transport::Look look, WatchedFiles& files);

 private:
  class Processor;
  const std::shared_ptr<Processor> processor_;
};

}  // namespace mlc::server
