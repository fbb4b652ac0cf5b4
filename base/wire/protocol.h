// Converts measurements and digests to and from wire messages. Pure; thread-safe.
#pragma once

#include <optional>
#include <string>

#include "base/digest.h"
#include "base/measurement.h"
#include "base/status.h"
#include "proto/common.pb.h"
#include "proto/worker.pb.h"

namespace mlc::server {

// The major version of the protocol. Different versions are incompatible. Adding fields and calls
// does not change it, so programs of neighbouring releases work together.
inline constexpr int kWireProtocol = 1;

// FAILED_PRECONDITION, with the side to upgrade, if `peer` ("client", "worker") reports another
// version than kWireProtocol, or none (0).
Status CheckProtocol(const std::string& peer, int protocol);

proto::Measurement ToWire(const Measurement& measurement);
// A missing or unknown outcome becomes kInfra; a detail that is too long is truncated.
Measurement FromWire(const proto::Measurement& wire);

// The device time that a result cost, if the worker reports it.
std::optional<double> DeviceSeconds(const proto::TrialResult& result);

// 16 bytes.
std::string ToWire(const Digest& digest);
std::optional<Digest> DigestFromWire(const std::string& bytes);

}  // namespace mlc::server
