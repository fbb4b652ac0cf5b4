#include "client/local/model_programs.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/process/command.h"
#include "client/local/embedded_server.h"

namespace mlc::client {
namespace {

using Clock = ModelPrograms::Clock;
using server::fleet::Command;
using server::fleet::RunChecked;

// Of one program, however late `end` is.
constexpr int64_t kMostMs = 120'000;

int64_t MsUntil(Clock::time_point end) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
  return std::clamp<int64_t>(left.count(), 1, kMostMs);
}

// The others' quotients in the order of `report`.
Result<RaceTimes> TimesOf(const std::string& report, size_t others) {
  const auto json = nlohmann::json::parse(report, nullptr, false);
  RaceTimes times;
  if (json.is_object()) times.first_ms = json.value("/latency_ms/median"_json_pointer, 0.0);
  if (times.first_ms <= 0) return Internal("mlc-run reported no latency");
  for (const auto& row : json.value("beside", nlohmann::json::array())) {
    times.quotients.push_back(row.value("quotient", 0.0));
  }
  if (times.quotients.size() != others) return Internal("mlc-run did not report all libraries");
  return times;
}

}  // namespace

std::string ModelPrograms::Program(const std::string& name) const {
  return options_.programs.empty() ? ProgramBeside(name) : options_.programs + "/" + name;
}

Status ModelPrograms::Compile(const std::vector<std::string>& source, const std::string& library,
                              Clock::time_point end, const std::stop_token& stop) const {
  Command command{{Program("mlc-compile")}, {}, {}, MsUntil(end)};
  for (const auto* words : {&options_.model_words, &source}) {
    command.words.insert(command.words.end(), words->begin(), words->end());
  }
  // What follows runs here, without a sandbox and without a question: no user-supplied kernel of
  // the log.
  command.words.insert(command.words.end(),
                       {"--user-kernels", "off", "--weights", "file", "-o", library});
  if (!options_.cubin_cache.empty()) {
    command.words.insert(command.words.end(), {"--cubin-cache", options_.cubin_cache});
  }
  return RunChecked(command, stop).status();
}

Result<RaceTimes> ModelPrograms::Race(const std::string& first, std::span<const std::string> others,
                                      double seconds, Clock::time_point end,
                                      const std::stop_token& stop) const {
  Command command{{Program("mlc-run"), first, "--device", std::to_string(options_.device),
                   "--bench", std::to_string(seconds), "--json"},
                  {},
                  {},
                  MsUntil(end)};
  for (const std::string& other : others) {
    command.words.insert(command.words.end(), {"--beside", other});
  }
  return TimesOf(MLC_TRY(RunChecked(command, stop)), others.size());
}

}  // namespace mlc::client
