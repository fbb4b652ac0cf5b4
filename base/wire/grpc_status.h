// Converts Status to and from gRPC's; the numbers are the same. Pure; thread-safe.
#pragma once

#include <grpcpp/support/status.h>

#include "base/status.h"

namespace mlc::server {

grpc::Status ToGrpc(const Status& status);
Status FromGrpc(const grpc::Status& status);

}  // namespace mlc::server
