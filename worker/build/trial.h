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
  uint64_t seed = 0;         // of random inputs, where this trial is the one that needs new ones
  double early_stop_ns = 0;  // may end as too_slow once surely slower; 0 = never
  int target = 0;            // which of the worker's targets it is for
};

struct TrialResult {
  Digest uid;
  Measurement measurement;
  std::optional<double> device_s = {};  // see DeviceTime; an earlier process's results have none
};

// Details longer than this are cut: a compiler may print without end.
inline constexpr size_t kMaxDetail = 16384;
// Bytes of a Measurement without words.
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
