#include "compiler/package/lock_file.h"

#include <charconv>
#include <cmath>
#include <sstream>

#include "base/text.h"

namespace mlc::package {

namespace {

constexpr std::string_view kHeader = "mlc lock v1";

Result<std::pair<Digest, Choice>> ParseTask(std::istringstream& words) {
  std::string digest, origin, expected, config;
  Choice choice;
  words >> digest >> origin >> expected;
  choice.origin = ParseOrigin(origin);
  std::getline(words >> std::ws, config);
  if (config.empty()) return InvalidArgument("expected: task DIGEST ORIGIN NANOSECONDS CONFIG");
  const auto [end, error] =
      std::from_chars(expected.data(), expected.data() + expected.size(), choice.expected_ns);
  if (error != std::errc() || end != expected.data() + expected.size()) {
    return InvalidArgument("'" + expected + "' is not a number of nanoseconds");
  }
  if (!std::isfinite(choice.expected_ns) || choice.expected_ns < 0) {
    return InvalidArgument("'" + expected + "' is not a valid time");
  }
  choice.config = MLC_TRY(schedule::Config::Parse(config));
  return std::pair(MLC_TRY(Digest::Parse(digest)), choice);
}

// Into the choice of its task.
Status ParseSubstitute(std::istringstream& words, std::map<Digest, Choice>& choices) {
  std::string digest, config;
  words >> digest;
  std::getline(words >> std::ws, config);
  if (config.empty()) return InvalidArgument("expected: newer DIGEST CONFIG");
  const auto task = choices.find(MLC_TRY(Digest::Parse(digest)));
  if (task == choices.end()) return InvalidArgument("the task is not pinned above");
  if (task->second.substitute) return InvalidArgument("the task is pinned twice");
  task->second.substitute = MLC_TRY(schedule::Config::Parse(config));
  return {};
}

}  // namespace

std::string LockFile::ToText() const {
  std::string text = std::string(kHeader) + "\ntarget " + target_class + "\n";
  for (const auto& [workload, choice] : choices) {
    text += "task " + workload.ToText() + " " + package::ToText(choice.origin) + " " +
            FloatToText(choice.expected_ns) + " " + choice.config.ToText() + "\n";
    if (!choice.substitute) continue;
    text += "newer " + workload.ToText() + " " + choice.substitute->ToText() + "\n";
  }
  return text;
}

Result<LockFile> LockFile::Parse(std::string_view text) {
  std::istringstream lines{std::string(text)};
  std::string line;
  if (!std::getline(lines, line) || line != kHeader) {
    if (line.starts_with("mlc lock v")) {
      return FailedPrecondition(
          "the lock file is from a newer mlc-compile: upgrade, or lock again");
    }
    return InvalidArgument("not a lock file: the first line must be '" + std::string(kHeader) +
                           "'");
  }
  LockFile lock;
  for (int number = 2; std::getline(lines, line); ++number) {
    std::istringstream words(line);
    std::string kind;
    words >> kind;
    if (kind == "target" && lock.target_class.empty()) {
      std::getline(words >> std::ws, lock.target_class);
    } else if (kind == "task") {
      Result<std::pair<Digest, Choice>> task = ParseTask(words);
      if (!task.ok()) return task.status().WithPrefix("line " + std::to_string(number));
      if (!lock.choices.insert(*std::move(task)).second) {
        return InvalidArgument("line " + std::to_string(number) + ": the task is pinned twice");
      }
    } else if (kind == "newer") {
      const Status read = ParseSubstitute(words, lock.choices);
      if (!read.ok()) return read.WithPrefix("line " + std::to_string(number));
    } else if (!kind.empty()) {
      return InvalidArgument("line " + std::to_string(number) + ": '" + kind.substr(0, 40) +
                             "' is not expected here");
    }
  }
  if (lock.target_class.empty()) return InvalidArgument("the lock file has no 'target' line");
  return lock;
}

}  // namespace mlc::package
