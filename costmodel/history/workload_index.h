// Which workloads of a log are alike: of the newest ones, since a log only grows. Each is read and
// described once, some 10 us, however often is asked; some 120 bytes for each. Thread-safe.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "base/status.h"
#include "costmodel/problem.h"
#include "db/tuning_log.h"

namespace mlc::server {

class WorkloadIndex {
 public:
  // Borrows the log. Knows the newest `most` workloads at least, and up to half as many more.
  explicit WorkloadIndex(const db::TuningLog& log, int64_t most = 32'768)
      : log_(log), most_(most) {}

  // Keys of those near enough to teach something about `problem` (costmodel/transfer.h), nearest
  // first, ties as they came into the log. Itself, too, if the log has it.
  Result<std::vector<Digest>> Near(const costmodel::Problem& problem);
  int64_t size() const;

 private:
  Status Follow();
  void Drop();

  const db::TuningLog& log_;
  const int64_t most_;
  mutable std::mutex mutex_;
  int64_t last_id_ = 0;
  std::vector<Digest> keys_;
  std::vector<costmodel::Problem> problems_;  // parallel to keys_
};

}  // namespace mlc::server
