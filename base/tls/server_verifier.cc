#include "base/tls/server_verifier.h"

#include <functional>
#include <string_view>
#include <utility>

namespace mlc::transport {
namespace {

using grpc::experimental::ExternalCertificateVerifier;
using grpc::experimental::HostNameCertificateVerifier;
using grpc::experimental::TlsCustomVerificationCheckRequest;

class ServerVerifier : public ExternalCertificateVerifier {
 public:
  explicit ServerVerifier(std::unique_ptr<Revocations> revoked) : revoked_(std::move(revoked)) {}

  bool Verify(TlsCustomVerificationCheckRequest* request, std::function<void(grpc::Status)>,
              grpc::Status* status) override {
    // A verifier of one's own takes the place of gRPC's, which answers at once.
    (void)name_.Verify(request, nullptr, status);
    if (!status->ok()) return true;
    // If the new list cannot be used, the old one stays in force.
    (void)revoked_->Refresh(Look::kIfChanged);
    const grpc::string_ref pem = request->peer_cert();
    const Status checked = revoked_->Check(std::string_view(pem.data(), pem.size()));
    if (!checked.ok()) *status = {grpc::StatusCode::UNAUTHENTICATED, checked.message()};
    return true;
  }
  void Cancel(TlsCustomVerificationCheckRequest*) override {}

 private:
  HostNameCertificateVerifier name_;
  const std::unique_ptr<Revocations> revoked_;
};

}  // namespace

std::shared_ptr<grpc::experimental::CertificateVerifier> MakeServerVerifier(
    std::unique_ptr<Revocations> revoked) {
  return ExternalCertificateVerifier::Create<ServerVerifier>(std::move(revoked));
}

}  // namespace mlc::transport
