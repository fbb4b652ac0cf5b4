// The read side of the SQLite log: a pool of read-only connections, opened on demand, each used by
// one call at a time. Thread-safe.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "db/sqlite/sqlite.h"
#include "db/tuning_log.h"

namespace mlc::db {

class SqliteReads {
 public:
  explicit SqliteReads(std::string path) : path_(std::move(path)) {}
  ~SqliteReads();

  // Opens one connection, to report a bad file early.
  Status Probe() const;
  Result<std::vector<Record>> Best(const Digest& workload, const std::string& target, int limit,
                                   const TuningLog::Accept& accept) const;
  Result<std::vector<Record>> Confirmations(const Digest& workload,
                                            const std::string& target) const;
  Result<std::optional<Record>> Find(const Digest& task_uid) const;
  Result<std::vector<Record>> List(const RecordQuery& query) const;
  Result<std::optional<WorkloadRow>> FindWorkload(const Digest& key) const;
  Result<std::vector<WorkloadRow>> Workloads(int64_t after_id, int64_t limit) const;
  Result<std::vector<std::string>> Targets() const;
  Result<std::optional<JobRow>> FindJob(const Digest& id) const;
  Result<std::vector<JobRow>> Jobs(const JobQuery& asked) const;
  Result<std::vector<ModelRow>> Models(const std::string& target, int64_t up_to_id) const;
  Result<std::vector<AdminHold>> AdminHolds() const;
  Result<LogMoment> Now() const;
  Result<LogStats> Stats() const;

 private:
  class Lease;

  std::string path_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Database>> idle_;
};

}  // namespace mlc::db
