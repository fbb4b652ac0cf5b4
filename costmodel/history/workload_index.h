// Finds similar workloads among the newest ones of a log; it ignores older ones, because a log only
// grows. Each workload is read and described once, which takes about 10 us and 120 bytes.
// Thread-safe.
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
  static constexpr int64_t kUsual = 32'768;
  // Borrows the log. Holds at least the newest `most` workloads, and at most half as many more.
  explicit WorkloadIndex(const db::TuningLog& log, int64_t most = kUsual)
      : log_(log), most_(most) {}

  // Keys of the workloads that are near enough to `problem` for a transfer (costmodel/transfer.h),
  // nearest first, ties in the order of the keys. Includes the problem's own workload if the log
  // has it.
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
