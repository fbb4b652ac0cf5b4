// Measurements and digests to and from the wire.
#pragma once

#include <optional>
#include <string>

#include "base/digest.h"
#include "base/measurement.h"
#include "base/status.h"
#include "proto/common.pb.h"
#include "proto/worker.pb.h"

namespace mlc::server {

// The major version of the contract: another one understands it differently. Fields and calls that
// are added leave it as it is, so programs of neighbouring releases work together.
inline constexpr int kWireProtocol = 1;

// FAILED_PRECONDITION, with the side to upgrade, if `peer` ("client", "worker") speaks another
// version than kWireProtocol, or tells none (0).
Status CheckProtocol(const std::string& peer, int protocol);

proto::Measurement ToWire(const Measurement& measurement);
// A missing or unknown outcome becomes kInfra; an over-long detail is cut.
Measurement FromWire(const proto::Measurement& wire);

// What a result cost, if the worker tells a time.
std::optional<double> DeviceSeconds(const proto::TrialResult& result);

// 16 bytes.
std::string ToWire(const Digest& digest);
std::optional<Digest> DigestFromWire(const std::string& bytes);

}  // namespace mlc::server
