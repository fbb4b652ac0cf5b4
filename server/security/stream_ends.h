// Ends streams of gRPC's own services (health and reflection) when their callers lose access, and
// reports the messages of their calls to the access control. The project's own services do both
// themselves. Thread-safe.
#pragma once

#include <grpcpp/support/server_interceptor.h>

#include <memory>

#include "server/security/access_control.h"

namespace mlc::server {

// Makes the interceptor for ServerBuilder. The access control must outlive every call.
std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> MakeStreamEnds(
    const AccessControl& access);

}  // namespace mlc::server
