// What a client holds against a server's certificate besides its chain and dates, which TLS checks:
// that it is for the server's name, and not revoked. Asked at every handshake.
#pragma once

#include <grpcpp/security/tls_certificate_verifier.h>

#include <memory>

#include "base/tls/revocations.h"

namespace mlc::transport {

// `revoked` looks at its file again before every answer. Thread-safe.
std::shared_ptr<grpc::experimental::CertificateVerifier> MakeServerVerifier(
    std::unique_ptr<Revocations> revoked);

}  // namespace mlc::transport
