// The log file of a program, safe for logrotate and full disks. If the file was moved or removed,
// the next message opens it anew. If messages find no space, the sink counts them and reports the
// count once there is space.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"

namespace spdlog {
class logger;
namespace sinks {
class sink;
}
}  // namespace spdlog

namespace mlc::server {

// Opens the file. Errors of CannotOpen, but UNWRITABLE, as for all outputs, if the folder does not
// exist. Thread-safe.
Result<std::shared_ptr<spdlog::sinks::sink>> OpenLogFile(const std::string& path);

// Reopens the files of the logger immediately, if it has any.
void ReopenLogFiles(spdlog::logger& logger);

}  // namespace mlc::server
