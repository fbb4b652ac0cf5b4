// Messages of a long-running program: lines for people, or JSON objects for machines, one a line.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"

namespace spdlog {
class logger;
}

namespace mlc::server {

struct LogOptions {
  std::string program;          // "mlc-server"
  std::string file;             // standard error if empty
  std::string format = "text";  // or "json"
  std::string level = "info";   // debug, info, warn, error
};

// A message is one line. As text, OneLine; as JSON, {"time", "level", "program", "message"} in
// ASCII, and words of the form job=, task=, worker=, caller= and rpc= in it become fields of these
// names, too: the first of each, since what callers chose comes later. Errors of OpenLogFile.
Result<std::shared_ptr<spdlog::logger>> MakeLogger(const LogOptions& options);

// The object of one message, without an end of line.
std::string ToJsonLine(const std::string& time, const std::string& level,
                       const std::string& program, const std::string& message);

}  // namespace mlc::server
