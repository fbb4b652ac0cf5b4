// The profile of a library as one HTML page. Pure; thread-safe.
#pragma once

#include <string>

#include "client/run/run_report.h"

namespace mlc::client {

// REQUIRES: the report has a profile. `name` is the library's folder.
std::string RunPage(const RunReport& report, const std::string& name);

}  // namespace mlc::client
