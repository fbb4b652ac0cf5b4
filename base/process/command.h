// Runs a program with its arguments, never through a shell, and gathers what it prints.
// Thread-safe.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "base/status.h"

namespace mlc::server::fleet {

struct Command {
  std::vector<std::string> words;        // the first is a path, or a name found in PATH
  std::vector<std::string> environment;  // NAME=value, in addition to this process's own
  std::string input;
  int64_t timeout_ms = 30'000;
};

struct CommandOutput {
  int code = 0;        // of its exit, or 128 + signal
  std::string output;  // standard output
  std::string errors;  // standard error, its first 4 KiB
};

// UNAVAILABLE if the program cannot be started, INVALID_ARGUMENT if it prints more than 64 MiB,
// DEADLINE_EXCEEDED after its time, CANCELLED if `stop` was requested. In the last three cases all
// processes of its group are killed.
Result<CommandOutput> RunCommand(const Command& command, const std::stop_token& stop);

// The same. An exit code other than 0 is UNAVAILABLE with the first line of its standard error.
Result<std::string> RunChecked(const Command& command, const std::stop_token& stop);

}  // namespace mlc::server::fleet
