#include "client/log/tuned_kernels.h"

#include <algorithm>
#include <cctype>
#include <ctime>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "base/format.h"
#include "compiler/schedule/cuda/user_kernel/tuned_kernel.h"
#include "db/confirmed_best.h"
#include "db/sqlite/sqlite_log.h"

namespace mlc::client {
namespace {

using Json = nlohmann::ordered_json;

// Of the kernel of that name, with tunable parameters.
bool IsOf(const std::string& config, const std::string& name) {
  return schedule::IsTunedKernelText(config) &&
         config.find(" entry=" + name + " ") != std::string::npos;
}

struct Winner {
  std::string summary;  // of the workload
  db::Record record;
};

Result<std::vector<Winner>> WinnersOf(const LogOptions& options, const std::string& name) {
  const auto log = MLC_TRY(db::OpenSqliteLogForReading(options.file));
  std::vector<std::string> targets = {options.target};
  if (options.target.empty()) targets = MLC_TRY(log->Targets());
  std::vector<Winner> winners;
  for (const db::WorkloadRow& workload : MLC_TRY(log->Workloads())) {
    for (const std::string& target : targets) {
      for (db::Record& record :
           MLC_TRY(db::BestConfigs(*log, workload.key, target, 1, [&](const db::Record& candidate) {
             return IsOf(candidate.config, name);
           }))) {
        winners.push_back({workload.summary, std::move(record)});
      }
    }
  }
  if (!winners.empty()) return winners;
  return NotFound("the log has no correct record of a kernel '" + name +
                  "' with tunable parameters: mlc-tune --kernel measures them");
}

std::string Upper(std::string text) {
  for (char& c : text) {
    c = isalnum(static_cast<unsigned char>(c)) != 0
            ? static_cast<char>(toupper(static_cast<unsigned char>(c)))
            : '_';
  }
  return text;
}

// What a target's class is called, of its kind, processor and threads: CPU_X86_64_AVX512_2.
std::string TargetName(const std::string& text) {
  std::string name = text.find(" cuda ") != std::string::npos ? "CUDA" : "CPU";
  for (const char* member : {" arch=", " isa=", " threads=", " sms="}) {
    const size_t at = text.find(member);
    if (at == std::string::npos) continue;
    const size_t begin = at + std::string_view(member).size();
    name += "_" + text.substr(begin, text.find(' ', begin) - begin);
  }
  return Upper(name);
}

// Names of targets, which are distinct: one that two classes share gets the digest behind it.
std::map<std::string, std::string> TargetNames(const std::vector<Winner>& winners) {
  std::map<std::string, std::string> names;
  std::map<std::string, int> uses;
  for (const Winner& winner : winners) names.try_emplace(winner.record.target);
  for (auto& [target, name] : names) ++uses[name = TargetName(target)];
  for (auto& [target, name] : names) {
    if (uses[name] > 1) {
      name += "_" + Upper(DigestOf(std::string_view(target)).ToText().substr(0, 8));
    }
  }
  return names;
}

// The values of configs, most of which are of one specification: it is read once.
class ValueReader {
 public:
  std::vector<std::pair<std::string, std::string>> TextsOf(const schedule::Config& config) {
    if (!kernel_ || !kernel_->PointOf(config)) {
      Result<schedule::TunedKernel> read = schedule::TunedKernel::FromConfig(config);
      if (!read.ok()) return {};
      kernel_ = *std::move(read);
    }
    return kernel_->TextsOf(config);
  }

 private:
  std::optional<schedule::TunedKernel> kernel_;
};

std::string Definitions(const Winner& winner, ValueReader& reader) {
  std::string text = "/* " + winner.summary + ", workload " + winner.record.workload.ToText() +
                     ",\n   on " + winner.record.target + ":\n   " +
                     Format("%.3f us", winner.record.measurement.median_ns / 1e3) + ", record " +
                     std::to_string(winner.record.id) + " */\n";
  const Result<schedule::Config> config = schedule::Config::Parse(winner.record.config);
  if (!config.ok()) return text;
  for (const auto& [parameter, value] : reader.TextsOf(*config)) {
    text += "#define " + parameter + " " + value + "\n";
  }
  return text;
}

const char* Invalidity(Outcome outcome) {
  switch (outcome) {
    case Outcome::kOk:
      return "correct";
    case Outcome::kBuildError:
      return "compile";
    case Outcome::kWrongResult:
      return "correctness";
    case Outcome::kBuildTimeout:
    case Outcome::kRunTimeout:
    case Outcome::kTooSlow:
      return "timeout";
    case Outcome::kRunError:
    case Outcome::kInfra:
      break;
  }
  return "runtime";
}

std::string TimeText(int64_t us) {
  const std::time_t seconds = us / 1'000'000;
  std::tm utc = {};
  char text[32];
  (void)gmtime_r(&seconds, &utc);
  (void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

// A whole number stays one; what C would not read as a number is a text.
Json ValueJson(const std::string& text) {
  const Json number = Json::parse(text, nullptr, false);
  return number.is_number() ? number : Json(text);
}

Json ResultOf(const db::Record& record, const schedule::Config& config, ValueReader& reader) {
  const Measurement& m = record.measurement;
  const bool is_right = m.outcome == Outcome::kOk;
  Json result;
  result["timestamp"] = TimeText(record.created_us);
  result["configuration"] = Json::object();
  for (const auto& [parameter, value] : reader.TextsOf(config)) {
    result["configuration"][parameter] = ValueJson(value);
  }
  result["objectives"] = {"time"};
  Json runtimes = Json::array();
  if (is_right) runtimes.push_back(m.median_ns / 1e6);
  result["times"] = {{"compilation_time", m.build_ms}, {"runtimes", runtimes}};
  result["invalidity"] = Invalidity(m.outcome);
  result["correctness"] = m.outcome == Outcome::kWrongResult ? 0 : 1;
  result["measurements"] = Json::array();
  const auto measured = [&](const char* name, double ns) {
    result["measurements"].push_back({{"name", name}, {"value", ns / 1e6}, {"unit", "ms"}});
  };
  if (is_right) {
    measured("time", m.median_ns);
    measured("time_p10", m.p10_ns);
    measured("time_p90", m.p90_ns);
  }
  return result;
}

}  // namespace

Result<std::string> HeaderCommand(const LogOptions& options, const std::string& name) {
  const std::vector<Winner> winners = MLC_TRY(WinnersOf(options, name));
  const std::map<std::string, std::string> targets = TargetNames(winners);
  const std::string prefix = Upper(name);
  std::string text = "/* The fastest known values of the kernel " + name +
                     ", by device and shape; written by mlc-log header. */\n#ifndef " + prefix +
                     "_TUNED_H_\n#define " + prefix + "_TUNED_H_\n\n";
  ValueReader reader;
  if (winners.size() == 1) {
    text += Definitions(winners.front(), reader);
  } else {
    std::string known;
    for (const Winner& winner : winners) {
      const std::string target = prefix + "_TARGET_" + targets.at(winner.record.target);
      const std::string shape =
          prefix + "_SHAPE_" + Upper(winner.record.workload.ToText().substr(0, 8));
      text += std::string(known.empty() ? "#if" : "#elif") + " defined(" + target +
              ") && defined(" + shape + ")\n" + Definitions(winner, reader);
      known += " " + target + "+" + shape;
    }
    text += "#else\n#error \"define a target and a shape:" + known + "\"\n#endif\n";
  }
  return text + "\n#endif\n";
}

Result<std::string> ResultsCommand(const LogOptions& options, const std::string& name) {
  const auto log = MLC_TRY(db::OpenSqliteLogForReading(options.file));
  Json json;
  json["schema_version"] = "1.0.0";
  json["metadata"] = {{"timeunit", "milliseconds"}};
  json["results"] = Json::array();
  db::RecordQuery query;
  if (!options.target.empty()) query.target = options.target;
  ValueReader reader;
  for (const db::Record& record : MLC_TRY(log->List(query))) {
    // A trial that was not made says nothing of the config.
    if (!IsOf(record.config, name) || record.measurement.outcome == Outcome::kInfra) continue;
    const Result<schedule::Config> config = schedule::Config::Parse(record.config);
    if (config.ok()) json["results"].push_back(ResultOf(record, *config, reader));
  }
  if (json["results"].empty()) {
    return NotFound("the log has no record of a kernel '" + name +
                    "' with tunable parameters: mlc-tune --kernel measures them");
  }
  return json.dump(1) + "\n";
}

}  // namespace mlc::client
