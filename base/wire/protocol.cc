#include "base/wire/protocol.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "base/fields.h"

namespace mlc::server {
namespace {

using google::protobuf::FieldDescriptor;

constexpr size_t kMaxText = 16384;

// The message's field of each row of kMeasurementFields: equal names.
std::vector<const FieldDescriptor*> FindWireFields() {
  std::vector<const FieldDescriptor*> fields;
  const Measurement measurement;
  VisitFields(measurement, [&](const FieldInfo& field, const auto&) {
    fields.push_back(proto::Measurement::descriptor()->FindFieldByName(std::string(field.name)));
    MLC_CHECK(fields.back() != nullptr);
  });
  return fields;
}

const std::vector<const FieldDescriptor*>& WireFields() {
  static const std::vector<const FieldDescriptor*> kFields = FindWireFields();
  return kFields;
}

void Write(double value, proto::Measurement& wire, const FieldDescriptor& field) {
  wire.GetReflection()->SetDouble(&wire, &field, value);
}

void Write(int32_t value, proto::Measurement& wire, const FieldDescriptor& field) {
  wire.GetReflection()->SetInt32(&wire, &field, value);
}

void Write(const std::string& value, proto::Measurement& wire, const FieldDescriptor& field) {
  wire.GetReflection()->SetString(&wire, &field, value);
}

void Write(Outcome value, proto::Measurement& wire, const FieldDescriptor& field) {
  wire.GetReflection()->SetEnumValue(&wire, &field, static_cast<int>(value));
}

void Read(const proto::Measurement& wire, const FieldDescriptor& field, double& value) {
  value = wire.GetReflection()->GetDouble(wire, &field);
}

void Read(const proto::Measurement& wire, const FieldDescriptor& field, int32_t& value) {
  value = wire.GetReflection()->GetInt32(wire, &field);
}

void Read(const proto::Measurement& wire, const FieldDescriptor& field, std::string& value) {
  value = wire.GetReflection()->GetString(wire, &field).substr(0, kMaxText);
}

void Read(const proto::Measurement& wire, const FieldDescriptor& field, Outcome& value) {
  const int number = wire.GetReflection()->GetEnumValue(wire, &field);
  const bool known = wire.GetReflection()->HasField(wire, &field) && number >= 0 &&
                     number <= static_cast<int>(Outcome::kInfra);
  value = known ? static_cast<Outcome>(number) : Outcome::kInfra;
}

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
  size_t at = 0;
  VisitFields(measurement, [&](const FieldInfo&, const auto& value) {
    Write(value, wire, *WireFields()[at++]);
  });
  return wire;
}

Measurement FromWire(const proto::Measurement& wire) {
  Measurement measurement;
  size_t at = 0;
  VisitFields(measurement,
              [&](const FieldInfo&, auto& value) { Read(wire, *WireFields()[at++], value); });
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
