#include "server/security/tls_access_control.h"

#include <spdlog/spdlog.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "server/security/audit_limiter.h"
#include "server/security/policy.h"

namespace mlc::server {
namespace {

constexpr std::string_view kIdentityPrefix = "spiffe://mlc/";
constexpr std::string_view kBearer = "Bearer ";
constexpr int64_t kReviewMs = 1'000;
constexpr char kPeerUri[] = "peer_uri";
constexpr char kPeerCertificate[] = "x509_pem_cert";

std::string_view View(const grpc::string_ref& text) { return {text.data(), text.size()}; }

int64_t Today(const Clock& clock) {
  return std::chrono::floor<std::chrono::days>(std::chrono::microseconds(clock.WallUs())).count();
}

Status Unauthenticated(std::string message) {
  return {StatusCode::kUnauthenticated, std::move(message)};
}

Result<Caller> CertificateCaller(const std::vector<std::string>& uris, bool has_certificate) {
  for (const std::string_view text : uris) {
    if (text.starts_with(kIdentityPrefix)) {
      return ParseIdentity(text.substr(kIdentityPrefix.size()));
    }
  }
  if (!has_certificate) {
    return Unauthenticated(
        "the call has no identity: give --tls-cert and --tls-key, or --token-file");
  }
  return Unauthenticated(
      "the client's certificate has no URI of the form spiffe://mlc/ROLE/NAME: make one with "
      "deploy/certificates.sh");
}

}  // namespace

class TlsAccessControl::Processor : public grpc::AuthMetadataProcessor {
 public:
  Processor(const Clock& clock, std::shared_ptr<spdlog::logger> logger,
            std::shared_ptr<Metrics> metrics, std::unique_ptr<Tokens> tokens,
            std::unique_ptr<transport::Revocations> revoked)
      : clock_(clock),
        logger_(std::move(logger)),
        metrics_(std::move(metrics)),
        tokens_(std::move(tokens)),
        revoked_(std::move(revoked)) {}

  // A look into a table in memory: no thread of its own is needed.
  bool IsBlocking() const override { return false; }

  grpc::Status Process(const InputMetadata& metadata, grpc::AuthContext* context, OutputMetadata*,
                       OutputMetadata*) override {
    if (opened_) opened_(ConnectionOf(*context));
    const auto path = metadata.find(":path");
    const std::string_view rpc = path == metadata.end() ? "" : View(path->second);
    const Result<Caller> caller = Identify(metadata, *context);
    const Status status = caller.ok() ? Check(*caller, rpc) : caller.status();
    if (status.ok()) return grpc::Status::OK;
    metrics_->AddRejected(ReasonOf(status));
    const std::string name = caller.ok() ? caller->ToText() : "an unknown caller";
    if (audit_.Allow(name, clock_.SteadyMs())) {
      // The path comes from the caller.
      logger_->warn("audit: refused {} to {}: {}", Printable(rpc), name,
                    Printable(status.message()));
    }
    return {static_cast<grpc::StatusCode>(status.code()), status.message()};
  }

  void SetOpened(std::function<void(const void*)> opened) { opened_ = std::move(opened); }

  Result<Caller> Identify(const InputMetadata& metadata, const grpc::AuthContext& context) const {
    if (revoked_ != nullptr) {
      for (const grpc::string_ref& pem : context.FindPropertyValues(kPeerCertificate)) {
        MLC_TRY(revoked_->Check(View(pem)));
      }
    }
    const auto [begin, end] = metadata.equal_range("authorization");
    if (begin == end) {
      std::vector<std::string> uris;
      for (const grpc::string_ref& uri : context.FindPropertyValues(kPeerUri)) {
        uris.emplace_back(View(uri));
      }
      return CertificateCaller(uris, context.IsPeerAuthenticated());
    }
    const std::string_view value = View(begin->second);
    if (std::next(begin) != end || !value.starts_with(kBearer)) {
      return Unauthenticated("the authorization header must be 'Bearer TOKEN', once");
    }
    if (tokens_ == nullptr) return Unauthenticated("this server takes no tokens");
    return tokens_->Find(value.substr(kBearer.size()), Today(clock_));
  }

  Result<Caller> Identify(const Proof& proof) const {
    if (revoked_ != nullptr && !proof.certificate.empty()) {
      MLC_TRY(revoked_->Check(proof.certificate));
    }
    if (proof.token_digest.empty()) {
      return CertificateCaller(proof.uris, !proof.certificate.empty());
    }
    if (tokens_ == nullptr) return Unauthenticated("this server takes no tokens");
    return tokens_->FindDigest(proof.token_digest, Today(clock_));
  }
  bool takes_tokens() const { return tokens_ != nullptr; }

  std::unique_ptr<OpenCall> Follow(const grpc::ServerContextBase& context, std::string rpc,
                                   OpenCalls::End end) {
    const InputMetadata& metadata = context.client_metadata();
    const Result<Caller> first = Identify(metadata, *context.auth_context());
    const std::string name = first.ok() ? first->name : "";
    const auto authorize = [this, &metadata, peer = context.auth_context(), rpc, name]() -> Status {
      const Caller caller = MLC_TRY(Identify(metadata, *peer));
      if (caller.name != name) return Unauthenticated("the token belongs to another caller now");
      return Check(caller, rpc);
    };
    return open_.Add(authorize, [this, rpc, name, end = std::move(end)](const Status& status) {
      metrics_->AddRejected(ReasonOf(status));
      logger_->warn("audit: ended {} of {}: {}", rpc, name, status.message());
      end(status);
    });
  }

  // Tokens and list, whatever becomes of the first; and the audit lines that were left out.
  void Refresh(transport::Look look, WatchedFiles& files) {
    const int64_t now_ms = clock_.SteadyMs();
    for (const AuditLimiter::Suppressed& more : audit_.TakeSummary(now_ms)) {
      logger_->warn("audit: refused {} more calls to {}", more.lines, more.caller);
    }
    int64_t taken = 0;
    if (tokens_ != nullptr) {
      files.Update("tokens", tokens_->Refresh(look), now_ms);
      taken += tokens_->taken();
    }
    if (revoked_ != nullptr) {
      files.Update("revocations", revoked_->Refresh(look), now_ms);
      taken += revoked_->taken();
    }
    // Tokens end with their day, whatever becomes of the file.
    const bool changed = taken_.exchange(taken) != taken;
    if (!changed && look == transport::Look::kIfChanged && now_ms - reviewed_ms_ < kReviewMs) {
      return;
    }
    reviewed_ms_ = now_ms;
    open_.Review();
  }

 private:
  static const char* ReasonOf(const Status& status) {
    return status.code() == StatusCode::kPermissionDenied ? "denied" : "unauthenticated";
  }
  static std::string Printable(std::string_view text) {
    std::string clean(text.substr(0, 200));
    for (char& c : clean) c = c < ' ' || c > '~' ? '?' : c;
    return clean;
  }

  const Clock& clock_;
  const std::shared_ptr<spdlog::logger> logger_;
  const std::shared_ptr<Metrics> metrics_;
  const std::unique_ptr<Tokens> tokens_;
  const std::unique_ptr<transport::Revocations> revoked_;
  std::atomic<int64_t> taken_ = 0;        // texts of both files at the last look
  std::atomic<int64_t> reviewed_ms_ = 0;  // when the streams were looked at
  AuditLimiter audit_;
  OpenCalls open_;
  std::function<void(const void*)> opened_;  // see AccessControl::TrafficObserver
};

TlsAccessControl::TlsAccessControl(const Clock& clock, std::shared_ptr<spdlog::logger> logger,
                                   std::shared_ptr<Metrics> metrics, std::unique_ptr<Tokens> tokens,
                                   std::unique_ptr<transport::Revocations> revoked)
    : processor_(std::make_shared<Processor>(clock, std::move(logger), std::move(metrics),
                                             std::move(tokens), std::move(revoked))) {}
TlsAccessControl::~TlsAccessControl() = default;

std::shared_ptr<grpc::AuthMetadataProcessor> TlsAccessControl::processor() const {
  return processor_;
}

Result<Caller> TlsAccessControl::CallerOf(const grpc::ServerContextBase& context) const {
  return processor_->Identify(context.client_metadata(), *context.auth_context());
}

Result<Caller> TlsAccessControl::Identify(const Proof& proof) const {
  return processor_->Identify(proof);
}

bool TlsAccessControl::takes_tokens() const { return processor_->takes_tokens(); }

std::unique_ptr<OpenCall> TlsAccessControl::Follow(const grpc::ServerContextBase& context,
                                                   std::string_view rpc, OpenCalls::End end) const {
  return processor_->Follow(context, std::string(rpc), std::move(end));
}

void TlsAccessControl::SetTrafficObserver(TrafficObserver observer) {
  processor_->SetOpened(observer.opened);
  AccessControl::SetTrafficObserver(std::move(observer));
}

void TlsAccessControl::Refresh(transport::Look look, WatchedFiles& files) {
  processor_->Refresh(look, files);
}

}  // namespace mlc::server
