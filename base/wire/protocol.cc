#include "base/wire/protocol.h"

#include <array>
#include <cstring>

namespace mlc::server {
namespace {
constexpr size_t kMaxDetail = 16384;
}  // namespace

Status CheckProtocol(const std::string& peer, int protocol) {
  if (protocol == kWireProtocol) return Status();
  return FailedPrecondition("the " + peer + " speaks protocol " + std::to_string(protocol) +
                            ", this server " + std::to_string(kWireProtocol) + ": upgrade " +
                            (protocol > kWireProtocol ? "mlc-server"
                             : peer == "client"       ? "mlc-tune"
                                                      : "mlc-worker"));
}

proto::Measurement ToWire(const Measurement& measurement) {
  proto::Measurement wire;
  wire.set_outcome(static_cast<proto::Outcome>(measurement.outcome));
  wire.set_median_ns(measurement.median_ns);
  wire.set_p10_ns(measurement.p10_ns);
  wire.set_p90_ns(measurement.p90_ns);
  wire.set_runs(measurement.runs);
  wire.set_cold_ns(measurement.cold_ns);
  wire.set_max_error(measurement.max_error);
  wire.set_build_ms(measurement.build_ms);
  wire.set_clock_mhz(measurement.clock_mhz);
  wire.set_machine_speed(measurement.machine_speed);
  wire.set_detail(measurement.detail);
  return wire;
}

Measurement FromWire(const proto::Measurement& wire) {
  Measurement measurement;
  const bool known = wire.has_outcome() && wire.outcome() >= 0 &&
                     wire.outcome() <= static_cast<int>(Outcome::kInfra);
  measurement.outcome = known ? static_cast<Outcome>(wire.outcome()) : Outcome::kInfra;
  measurement.median_ns = wire.median_ns();
  measurement.p10_ns = wire.p10_ns();
  measurement.p90_ns = wire.p90_ns();
  measurement.runs = wire.runs();
  measurement.cold_ns = wire.cold_ns();
  measurement.max_error = wire.max_error();
  measurement.build_ms = wire.build_ms();
  measurement.clock_mhz = wire.clock_mhz();
  measurement.machine_speed = wire.machine_speed();
  measurement.detail = wire.detail().substr(0, kMaxDetail);
  return measurement;
}

std::optional<double> DeviceSeconds(const proto::TrialResult& result) {
  if (!result.has_device_s() || !(result.device_s() >= 0)) return std::nullopt;
  return result.device_s();
}

std::string ToWire(const Digest& digest) {
  const auto bytes = digest.ToBytes();
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

std::optional<Digest> DigestFromWire(const std::string& bytes) {
  std::array<uint8_t, 16> raw;
  if (bytes.size() != raw.size()) return std::nullopt;
  std::memcpy(raw.data(), bytes.data(), raw.size());
  return Digest::FromBytes(raw);
}

}  // namespace mlc::server
