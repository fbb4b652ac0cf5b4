// The logger of a long-running program: one message per line, as text or as JSON objects. Loggers
// are thread-safe.
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

// Makes a logger. As text, OneLine escapes each message. As JSON, a message is {"time", "level",
// "program", "message"} in ASCII, and the first word of each form job=, task=, worker=, caller= and
// rpc= also becomes a field. Later words of the same form are ignored, because text that callers
// chose comes later. Errors of OpenLogFile.
Result<std::shared_ptr<spdlog::logger>> MakeLogger(const LogOptions& options);

// The JSON object of one message, without a line end.
std::string ToJsonLine(const std::string& time, const std::string& level,
                       const std::string& program, const std::string& message);

}  // namespace mlc::server
