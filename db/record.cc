#include "db/record.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <concepts>
#include <string_view>
#include <type_traits>

#include "base/text.h"
#include "db/record_fields.h"

namespace mlc::db {
namespace {

// Of a config that brings the source of a kernel, and of all others.
constexpr size_t kMaxWithSource = size_t{3} << 19;
constexpr size_t kMaxConfig = 8191;
constexpr std::string_view kWithSource = "user_kernel/";
constexpr size_t kMaxDetail = 16384;
constexpr size_t kMaxName = 255;  // of a family and its version, where a source follows
constexpr int kMinRuns = 3;

// Length-prefixed, so that no two different records share one text.
void Put(std::string& out, std::string_view name, std::string_view value) {
  char size[24];
  const auto end = std::to_chars(size, size + sizeof(size), value.size()).ptr;
  out.append(name).append(":").append(size, end).append(":").append(value).push_back('\n');
}

// What the digest says of a field that came after version 1.
std::string DigestText(double value) { return FloatToText(value); }
std::string DigestText(const std::string& value) { return value; }
std::string DigestText(const Digest& value) { return value.ToText(); }
std::string DigestText(Outcome value) { return std::string(mlc::ToText(value)); }
template <std::integral Integer>
std::string DigestText(Integer value) {
  return std::to_string(value);
}

Status Bad(std::string_view what) {
  return InvalidArgument("record refused: " + std::string(what));
}

bool GoodTime(double ns) { return std::isfinite(ns) && ns > 0 && ns < kMaxTimeNs; }

Status ValidateNumber(const FieldInfo& field, double value) {
  const std::string name(field.name);
  if (!std::isfinite(value) || value < 0) return Bad(name + " is negative or not finite");
  if (field.limit == 0 || value < field.limit) return Status();
  char limit[32];
  const auto end = std::to_chars(limit, limit + sizeof(limit), field.limit).ptr;
  return Bad(name + " is not below " + std::string(limit, end));
}

// What the schema says of the numbers of any record, each by itself.
Status ValidateNumbers(const Record& record) {
  Status status;
  VisitFields(record, [&](const FieldInfo& field, const auto& value) {
    using Value = std::decay_t<decltype(value)>;
    if (!status.ok()) return;
    if constexpr (std::same_as<Value, double>) {
      status = ValidateNumber(field, value);
    } else if constexpr (std::signed_integral<Value>) {
      if (value < 0 && field.range != Range::kAny) {
        status = Bad(std::string(field.name) + " is negative");
      }
    }
  });
  return status;
}

Status ValidateTimes(const Record& record) {
  const Measurement& m = record.measurement;
  if (m.outcome == Outcome::kOk) {
    if (!GoodTime(m.median_ns)) return Bad("the time is not between 0 and 1000 s");
    if (m.median_ns < record.floor_ns) return Bad("the time is below what the device can do");
    if (m.runs < kMinRuns) return Bad("fewer than 3 runs");
    if (!(m.p10_ns > 0 && m.p10_ns <= m.median_ns && m.median_ns <= m.p90_ns)) {
      return Bad("p10 <= median <= p90 does not hold");
    }
  } else if (m.outcome == Outcome::kTooSlow) {
    if (!GoodTime(m.median_ns)) return Bad("the time is not between 0 and 1000 s");
  } else if (m.median_ns != 0) {
    return Bad("a failure has a time");
  }
  return ValidateNumbers(record);
}

// SQLite counts characters, and none after a NUL: in printable ASCII they are bytes.
bool IsPrintable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

Status ValidateConfig(const std::string& config) {
  if (config.empty()) return Bad("no config");
  const bool has_source = config.starts_with(kWithSource);
  if (config.size() > (has_source ? kMaxWithSource : kMaxConfig)) {
    return Bad(std::string("the config is longer than ") + (has_source ? "1.5 MiB" : "8 KiB"));
  }
  if (config.find('#') != std::string::npos) return Bad("the config has a '#'");
  if (!IsPrintable(config)) return Bad("the config is not of printable ASCII characters");
  if (has_source && std::min(config.find(' '), config.size()) > kMaxName) {
    return Bad("the version of the config's family is not a valid number");
  }
  return FamilyOf(config).status();
}

}  // namespace

Result<FamilyVersion> FamilyOf(const std::string& config) {
  const size_t slash = config.find('/');
  const size_t end = std::min(config.find(' '), config.size());
  FamilyVersion result;
  if (slash == std::string::npos || slash == 0 || slash > end) {
    return InvalidArgument("config does not start with family/version: " + config.substr(0, 60));
  }
  const char* last = config.data() + end;
  auto [stop, error] = std::from_chars(config.data() + slash + 1, last, result.version);
  if (error != std::errc() || stop != last || result.version < 1) {
    return InvalidArgument("config has no version after its family: " + config.substr(0, 60));
  }
  result.family = config.substr(0, slash);
  return result;
}

Digest DigestOf(const Record& record) {
  const Measurement& m = record.measurement;
  std::string text;
  text.reserve(1024);
  text = "record v1\n";
  // The fields of version 1, under the names and in the order of the digests in existing logs.
  Put(text, "task_uid", record.task_uid.ToText());
  Put(text, "study", record.job_id.ToText());
  Put(text, "workload", record.workload.ToText());
  Put(text, "target", record.target);
  Put(text, "config", record.config);
  Put(text, "outcome", mlc::ToText(m.outcome));
  for (double value : {m.median_ns, m.p10_ns, m.p90_ns, m.cold_ns, m.max_error, m.build_ms,
                       m.clock_mhz, m.machine_speed, record.floor_ns}) {
    Put(text, "number", FloatToText(value));
  }
  Put(text, "runs", std::to_string(m.runs));
  Put(text, "detail", m.detail);
  Put(text, "toolchain", record.toolchain);
  Put(text, "worker", record.worker);
  Put(text, "arm", record.arm);
  Put(text, "rank", std::to_string(record.predicted_rank));
  Put(text, "seed", std::to_string(record.seed));
  Put(text, "created", std::to_string(record.created_us));
  VisitFields(record, [&](const FieldInfo& field, const auto& value) {
    if (field.since > 1 && !IsAbsent(field, value)) Put(text, field.name, DigestText(value));
  });
  return mlc::DigestOf(std::string_view(text));
}

Status Validate(const Record& record) {
  if (record.measurement.outcome >= Outcome::kInfra) {
    return Bad("the outcome infra is not stored: it says nothing about the config");
  }
  if (record.target.empty()) return Bad("no target");
  if (record.target.find('\0') != std::string::npos) return Bad("the target has a NUL");
  if (record.measurement.detail.size() > kMaxDetail) return Bad("the detail is over 16 KiB");
  MLC_TRY(ValidateConfig(record.config));
  return ValidateTimes(record);
}

std::string_view ToText(JobState state) {
  switch (state) {
    case JobState::kRunning:
      return "running";
    case JobState::kDone:
      return "done";
    case JobState::kCancelled:
      return "cancelled";
    case JobState::kFailed:
      return "failed";
  }
  return "unknown";
}

bool IsConfirmation(const Record& record) { return record.arm == kConfirmationArm; }

}  // namespace mlc::db
