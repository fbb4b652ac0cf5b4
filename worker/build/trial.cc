#include "worker/build/trial.h"

#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>

#include "base/fields.h"

namespace mlc::worker {

Measurement Failed(Outcome outcome, std::string_view detail) {
  Measurement measurement;
  measurement.outcome = outcome;
  measurement.detail = detail.substr(0, kMaxDetail);
  return measurement;
}

void Put(ByteWriter& out, const Digest& digest) {
  out.Put(digest.high);
  out.Put(digest.low);
}

void Put(ByteWriter& out, const Trial& trial) {
  Put(out, trial.uid);
  out.PutText(trial.workload);
  out.PutText(trial.config);
  out.Put(trial.seed);
  out.Put(trial.early_stop_ns);
  out.Put(trial.target);
}

void Put(ByteWriter& out, const Measurement& m) {
  VisitFields(m, [&](const FieldInfo&, const auto& value) {
    if constexpr (std::same_as<std::decay_t<decltype(value)>, std::string>) {
      out.PutText(value);
    } else {
      out.Put(value);
    }
  });
}

Digest GetDigest(ByteReader& in) {
  Digest digest;
  digest.high = in.Get<uint64_t>();
  digest.low = in.Get<uint64_t>();
  return digest;
}

Trial GetTrial(ByteReader& in) {
  Trial trial;
  trial.uid = GetDigest(in);
  trial.workload = in.GetText();
  trial.config = in.GetText();
  trial.seed = in.Get<uint64_t>();
  trial.early_stop_ns = in.Get<double>();
  trial.target = in.Get<int>();
  return trial;
}

Measurement GetMeasurement(ByteReader& in) {
  Measurement m;
  uint8_t outcome = 0;
  VisitFields(m, [&](const FieldInfo&, auto& value) {
    using Value = std::decay_t<decltype(value)>;
    if constexpr (std::same_as<Value, std::string>) {
      value = in.GetText().substr(0, kMaxDetail);
    } else if constexpr (std::same_as<Value, Outcome>) {
      outcome = in.Get<uint8_t>();
    } else {
      value = in.Get<Value>();
    }
  });
  const bool known = in.ok() && outcome <= static_cast<uint8_t>(Outcome::kInfra);
  m.outcome = known ? static_cast<Outcome>(outcome) : Outcome::kInfra;
  return m;
}

}  // namespace mlc::worker
