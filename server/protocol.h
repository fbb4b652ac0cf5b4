// Measurements and digests to and from the wire.
#pragma once

#include <optional>
#include <string>

#include "compiler/base/digest.h"
#include "compiler/base/measurement.h"
#include "proto/common.pb.h"

namespace mlc::server {

inline constexpr int kWireProtocol = 1;

proto::Measurement ToWire(const Measurement& measurement);
// A missing or unknown outcome becomes kInfra; an over-long detail is cut.
Measurement FromWire(const proto::Measurement& wire);

// 16 bytes.
std::string ToWire(const Digest& digest);
std::optional<Digest> DigestFromWire(const std::string& bytes);

}  // namespace mlc::server
