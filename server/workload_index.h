// Which workloads of a log are alike. Each is read and described once, some 10 us, however often is
// asked: a log only grows. Some 120 bytes for each. Thread-safe.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "compiler/base/status.h"
#include "costmodel/problem.h"
#include "db/tuning_log.h"

namespace mlc::server {

class WorkloadIndex {
 public:
  // Borrows the log.
  explicit WorkloadIndex(const db::TuningLog& log) : log_(log) {}

  // Keys of those near enough to teach something about `problem` (costmodel/transfer.h), nearest
  // first, ties as they came into the log. Itself, too, if the log has it.
  Result<std::vector<Digest>> Near(const costmodel::Problem& problem);

 private:
  Status Follow();

  const db::TuningLog& log_;
  std::mutex mutex_;
  int64_t last_id_ = 0;
  std::vector<Digest> keys_;
  std::vector<costmodel::Problem> problems_;  // parallel to keys_
};

}  // namespace mlc::server
