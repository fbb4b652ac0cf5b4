// Ends the streams of gRPC's own services, health and reflection, when their callers are locked
// out, and tells the gate of their calls; ours do so themselves, and say why. Thread-safe.
#pragma once

#include <grpcpp/support/server_interceptor.h>

#include <memory>

#include "server/security/gate.h"

namespace mlc::server {

// For ServerBuilder. The gate must outlive every call.
std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> MakeStreamEnds(
    const Gate& gate);

}  // namespace mlc::server
