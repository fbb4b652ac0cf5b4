// A trial as the worker handles it, and its form between the worker's processes. Values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/digest.h"
#include "base/measurement.h"
#include "base/process/bytes.h"

namespace mlc::worker {

struct Trial {
  Digest uid;
  std::string workload;
  std::string config;
  uint64_t seed = 0;         // of the random inputs, if this trial needs new ones
  double early_stop_ns = 0;  // the trial may end as too_slow above it; 0: never
  int target = 0;            // index of the worker's target
};

struct TrialResult {
  Digest uid;
  Measurement measurement;
  std::optional<double> device_s = {};  // see DeviceTime; an earlier process's results have none
};

// Longer details are truncated, because the output of a compiler has no bound.
inline constexpr size_t kMaxDetail = 16384;
// Encoded size of a Measurement with empty strings.
inline constexpr size_t kMinMeasurement =
    1 + 8 * sizeof(double) + sizeof(int32_t) + ByteReader::kLeastText;

Measurement Failed(Outcome outcome, std::string_view detail);

void Put(ByteWriter& out, const Digest& digest);
void Put(ByteWriter& out, const Trial& trial);
void Put(ByteWriter& out, const Measurement& measurement);
Digest GetDigest(ByteReader& in);
Trial GetTrial(ByteReader& in);
// An unknown outcome makes the measurement kInfra.
Measurement GetMeasurement(ByteReader& in);

}  // namespace mlc::worker
