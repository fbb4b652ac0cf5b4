// The file of a program's messages, as logrotate and full disks treat it: one that was moved or
// removed is opened anew at the next message, and messages that found no space are counted and
// told of once there is some.
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

// Errors of CannotOpen, but UNWRITABLE, as of all outputs, if there is no such folder.
// Thread-safe.
Result<std::shared_ptr<spdlog::sinks::sink>> OpenLogFile(const std::string& path);

// Opens the files that it writes again now, if there are any.
void ReopenLogFiles(spdlog::logger& logger);

}  // namespace mlc::server
