// The checks of a client on a server's certificate besides chain and dates, which TLS checks: it
// has the server's name and is not revoked. Called at every handshake.
#pragma once

#include <grpcpp/security/tls_certificate_verifier.h>

#include <memory>

#include "base/tls/revocations.h"

namespace mlc::transport {

// `revoked` reads its file again before each check if it changed. Thread-safe.
std::shared_ptr<grpc::experimental::CertificateVerifier> MakeServerVerifier(
    std::unique_ptr<Revocations> revoked);

}  // namespace mlc::transport
