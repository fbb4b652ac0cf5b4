// Finds out why a server cannot be reached: connects step by step without gRPC, whose errors do not
// distinguish a wrong authority from an expired certificate or a wrong clock. Thread-safe.
#pragma once

#include <string>

#include "base/status.h"
#include "base/tls/certificates.h"

namespace mlc::transport {

// OK if a connection can be made now. UNAVAILABLE: no server listens, or not with this protocol;
// UNAUTHENTICATED: one side refuses the other's certificate. Blocks a few seconds at worst.
Status Diagnose(const std::string& address, const TlsPaths& tls, const std::string& server_name);

}  // namespace mlc::transport
