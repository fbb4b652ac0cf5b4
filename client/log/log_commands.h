// The commands of mlc-log: one function each, from options to the printed text. Thread-safe (no
// shared state).
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "base/status.h"
#include "client/log/log_text.h"
#include "compiler/graph/workload.h"

namespace mlc::client {

struct LogOptions {
  std::string file;
  std::string target;  // class text; empty: every target of the log
  int limit = 1;
  bool json = false;
};

// A digest, or the path of a file with a workload's text. NOT_FOUND if it is neither.
Result<Digest> WorkloadKeyOf(const std::string& what);

// The fastest records of each workload whose configs this build can generate.
Result<std::string> BestCommand(const LogOptions& options, const std::vector<Digest>& workloads);
Result<std::string> ListCommand(const LogOptions& options, const std::string& workload);
// Full record by id or task_uid.
Result<std::string> ShowCommand(const LogOptions& options, const std::string& record);
// A record by id or task_uid, or the best of a workload.
Result<std::string> ExplainCommand(const LogOptions& options, const std::string& what);
Result<std::string> StatsCommand(const LogOptions& options);
Result<std::string> VerifyCommand(const LogOptions& options, bool& sound);

}  // namespace mlc::client
