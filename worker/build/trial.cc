#include "worker/build/trial.h"

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
  out.Put(m.outcome);
  for (double value : {m.median_ns, m.p10_ns, m.p90_ns, m.cold_ns, m.max_error, m.build_ms,
                       m.clock_mhz, m.machine_speed}) {
    out.Put(value);
  }
  out.Put(m.runs);
  out.PutText(m.detail);
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
  const auto outcome = in.Get<uint8_t>();
  for (double* value : {&m.median_ns, &m.p10_ns, &m.p90_ns, &m.cold_ns, &m.max_error, &m.build_ms,
                        &m.clock_mhz, &m.machine_speed}) {
    *value = in.Get<double>();
  }
  m.runs = in.Get<int32_t>();
  m.detail = in.GetText().substr(0, kMaxDetail);
  const bool known = in.ok() && outcome <= static_cast<uint8_t>(Outcome::kInfra);
  m.outcome = known ? static_cast<Outcome>(outcome) : Outcome::kInfra;
  return m;
}

}  // namespace mlc::worker
