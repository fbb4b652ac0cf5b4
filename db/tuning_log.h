// The tuning log: all measurements, kept for years. Writes are durable when they are acknowledged:
// a blocking call returns, and the callback of an appended record runs, after the commit. Records
// are unique by task_uid; the first one wins. Thread-safe.
//
// Errors of all calls: RESOURCE_EXHAUSTED if the disk is full (reads still work, and writes work
// again once there is space), DATA_LOSS for a damaged file, FAILED_PRECONDITION for a file of a
// newer version, ABORTED for a file that another process writes, INVALID_ARGUMENT for a value that
// the schema refuses.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "db/record.h"

namespace mlc::db {

// Conditions that all must hold. Records come in order of id.
struct RecordQuery {
  std::optional<Digest> workload;
  std::optional<std::string> target;
  std::optional<Digest> job_id;
  std::optional<Outcome> outcome;
  int64_t after_id = 0;          // exclusive
  int64_t up_to_id = INT64_MAX;  // inclusive
  int64_t limit = INT64_MAX;
  bool newest = false;  // the last `limit` records instead of the first; still in order of id
};

// Number of fastest records of a workload that a choice among them looks at.
inline constexpr int64_t kMostRanked = 65'536;

// Number of newest confirmations of a workload that are read. A newer confirmation of a config
// replaces older ones, and each later job confirms the leaders again.
inline constexpr int64_t kMostConfirmations = 512;

// Conditions that all must hold. The newest jobs come first.
struct JobQuery {
  std::optional<JobState> state;
  int64_t limit = INT64_MAX;
  bool with_tasks = true;                     // false reads many jobs quickly
  std::optional<Digest> base = std::nullopt;  // of the rows whose base it is
};

// The state of the log at one moment; reading it takes the same time for a log of any size.
struct LogMoment {
  int64_t last_id = 0;  // of records
  int64_t last_model_id = 0;
  int64_t last_workload_id = 0;
};

// Counts every record, which takes seconds for millions.
struct LogStats {
  int64_t workloads = 0;
  int64_t records = 0;
  std::vector<int64_t> by_outcome = std::vector<int64_t>(8);
  int64_t jobs = 0;
  int64_t models = 0;   // versions apart
  int64_t last_id = 0;  // of records
  int64_t last_model_id = 0;
  int schema_version = 0;
};

enum class Appended : uint8_t { kNew, kDuplicate };

class TuningLog {
 public:
  using AppendCallback = std::function<void(const Result<Appended>&)>;
  using Accept = std::function<bool(const Record&)>;

  virtual ~TuningLog() = default;

  // Writes. Adding a workload that is there changes nothing; INVALID_ARGUMENT if key and text
  // disagree.
  virtual Status AddWorkload(const WorkloadRow& row) = 0;
  // Queues the record. `done` runs once, after the commit or its failure, in the order of
  // appending, on a thread of the log; it must not block or call the log. REQUIRES: the workload
  // was added.
  virtual void Append(Record record, AppendCallback done) = 0;
  // Returns when everything queued so far is committed.
  virtual Status Flush() = 0;
  // Adds `workloads` and inserts or replaces the job and its tasks, as one write. REQUIRES: the
  // tasks' workloads are among these, or in the log.
  virtual Status PutJob(const JobRow& job, std::span<const WorkloadRow> workloads) = 0;
  Status PutJob(const JobRow& job) { return PutJob(job, {}); }
  // Adds a version of the model of its family, target and features. Does nothing if the bytes are
  // those of the newest version.
  virtual Status SaveModel(const ModelRow& model) = 0;
  // Deletes all versions of each model except the newest one now and the newest one as of each id
  // in `pinned`.
  virtual Status PruneModels(std::span<const int64_t> pinned) = 0;

  // Replaces the hold of the worker, or deletes it if it has neither a quarantine nor a drain.
  virtual Status PutAdminHold(const AdminHold& hold) = 0;

  // Reads.
  // The fastest correct records of a workload, fastest first (ties by task_uid), at most `limit` of
  // those that `accept` takes (all when empty) among the kMostRanked fastest. DATA_LOSS if one of
  // them fails its digest.
  virtual Result<std::vector<Record>> Best(const Digest& workload, const std::string& target,
                                           int limit, const Accept& accept = {}) const = 0;
  // The workload's correct records that are confirmations (see confirmed_best.h), in order of id;
  // of more than kMostConfirmations, the newest by created_us (ties by task_uid).
  virtual Result<std::vector<Record>> Confirmations(const Digest& workload,
                                                    const std::string& target) const = 0;
  virtual Result<std::optional<Record>> Find(const Digest& task_uid) const = 0;
  virtual Result<std::vector<Record>> List(const RecordQuery& query) const = 0;
  virtual Result<std::optional<WorkloadRow>> FindWorkload(const Digest& key) const = 0;
  // In order of id, those after an id, at most `limit`.
  virtual Result<std::vector<WorkloadRow>> Workloads(int64_t after_id = 0,
                                                     int64_t limit = INT64_MAX) const = 0;
  // Class texts of all targets with records.
  virtual Result<std::vector<std::string>> Targets() const = 0;
  virtual Result<std::optional<JobRow>> FindJob(const Digest& id) const = 0;
  virtual Result<std::vector<JobRow>> Jobs(const JobQuery& asked) const = 0;
  Result<std::vector<JobRow>> Jobs() const { return Jobs(JobQuery()); }
  // The newest version of each model, up to an id: what the log knew at that time.
  virtual Result<std::vector<ModelRow>> Models(const std::string& target,
                                               int64_t up_to_id = INT64_MAX) const = 0;
  // By name of the worker.
  virtual Result<std::vector<AdminHold>> AdminHolds() const = 0;
  virtual Result<LogMoment> Now() const = 0;
  virtual Result<LogStats> Stats() const = 0;
};

// The blocking form of one Append.
Result<Appended> AppendAndWait(TuningLog& log, Record record);

}  // namespace mlc::db
