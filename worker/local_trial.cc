#include "worker/local_trial.h"

#include <concepts>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>

#include "base/fields.h"
#include "compiler/schedule/space/family.h"

namespace mlc::worker {

Result<std::string> DefaultConfig(const std::string& workload, const target::Target& target) {
  const graph::Workload parsed = MLC_TRY(graph::Workload::Parse(workload));
  const auto families = schedule::FamiliesFor(parsed, target);
  if (families.empty()) return NotFound("no family covers " + parsed.Summary());
  return families.front()->Default(parsed, target).ToText();
}

std::vector<Measurement> RunTrial(Engine& engine, const Trial& trial, int repeat) {
  std::vector<Measurement> measurements;
  for (int i = 0; i < repeat; ++i) {
    engine.Add(trial);
    std::vector<TrialResult> results = engine.TakeResults();
    while (results.empty()) {
      engine.Work(1000, -1);
      if (engine.ReadyToMeasure()) engine.Measure();
      results = engine.TakeResults();
    }
    measurements.push_back(std::move(results.front().measurement));
  }
  return measurements;
}

std::string ToJson(const Measurement& m) {
  nlohmann::ordered_json json;
  VisitFields(m, [&](const FieldInfo& field, const auto& value) {
    if constexpr (std::same_as<std::decay_t<decltype(value)>, Outcome>) {
      json[std::string(field.name)] = ToText(value);
    } else {
      json[std::string(field.name)] = value;
    }
  });
  return json.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

std::string ToLine(const Measurement& m, double flops) {
  std::string line(ToText(m.outcome));
  if (m.median_ns > 0) {
    char text[200];
    std::snprintf(text, sizeof(text),
                  "  %.2f us (p10 %.2f, p90 %.2f, %d runs, cold %.2f)  %.1f GFLOP/s  error %.1e  "
                  "build %.1f ms  %.0f MHz  machine speed %.2f",
                  m.median_ns / 1e3, m.p10_ns / 1e3, m.p90_ns / 1e3, m.runs, m.cold_ns / 1e3,
                  flops / m.median_ns, m.max_error, m.build_ms, m.clock_mhz, m.machine_speed);
    line += text;
  }
  if (!m.detail.empty()) line += "  " + m.detail;
  return line;
}

namespace {

Status TestTarget(Engine& engine, int target) {
  const std::string text = MLC_TRY(graph::Workload::Parse("workload v1 tolerance=1e-04 {\n"
                                                          "%0 = input() : f32[64,64]\n"
                                                          "%1 = weight() : f32[64,64]\n"
                                                          "%2 = matmul(%0, %1) : f32[64,64]\n"
                                                          "return %2\n}\n"))
                               .ToText();
  const std::string config =
      MLC_TRY(DefaultConfig(text, engine.targets()[static_cast<size_t>(target)]));
  const Measurement good = RunTrial(engine, {{1, 1}, text, config, 1, 0, target}, 1).front();
  if (good.outcome != Outcome::kOk) {
    return Internal("a matrix product ends as " + std::string(ToText(good.outcome)) + ": " +
                    good.detail);
  }
  const Measurement bad = RunTrial(engine, {{1, 2}, text, "nonsense", 1, 0, target}, 1).front();
  if (bad.outcome != Outcome::kBuildError) {
    return Internal("text that is no config ends as " + std::string(ToText(bad.outcome)));
  }
  return Status();
}

}  // namespace

Status SelfTest(Engine& engine) {
  const std::vector<DeviceDescription> devices = engine.Describe();
  for (size_t i = 0; i < devices.size(); ++i) {
    MLC_TRY(TestTarget(engine, static_cast<int>(i)).WithPrefix("on the " + devices[i].kind));
  }
  return Status();
}

}  // namespace mlc::worker
