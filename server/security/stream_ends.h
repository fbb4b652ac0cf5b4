// Ends the streams of gRPC's own services, health and reflection, when their callers are locked
// out, and reports messages of their calls to the access control; ours do so themselves.
// Thread-safe.
#pragma once

#include <grpcpp/support/server_interceptor.h>

#include <memory>

#include "server/security/access_control.h"

namespace mlc::server {

// For ServerBuilder. The access control must outlive every call.
std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> MakeStreamEnds(
    const AccessControl& access);

}  // namespace mlc::server
