#include "db/sqlite/sqlite_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/file_access.h"
#include "base/process/file_lock.h"
#include "db/sqlite/commit_queue.h"
#include "db/sqlite/record_rows.h"
#include "db/sqlite/schema.h"
#include "db/sqlite/sqlite.h"
#include "db/sqlite/sqlite_reads.h"

namespace mlc::db {
namespace {

Status CheckKey(const WorkloadRow& row) {
  if (mlc::DigestOf(std::string_view(row.text)) == row.key) return Status();
  return InvalidArgument("a workload's key must be the digest of its text");
}

Status ReadOnly() {
  return Status(StatusCode::kPermissionDenied, "this log was opened for reading only");
}

// Reads go to the pool in both modes; writes to the queue, which only a writing log has.
class SqliteLog : public TuningLog {
 public:
  SqliteLog(std::string path, FileLock lock, Database writer, std::function<void(double)> timed)
      : lock_(std::move(lock)),
        reads_(std::move(path)),
        queue_(std::in_place, std::move(writer), std::move(timed)) {}
  explicit SqliteLog(std::string path) : reads_(std::move(path)) {}

  Status Probe() const { return reads_.Probe(); }

  Status AddWorkload(const WorkloadRow& row) override {
    MLC_TRY(CheckKey(row));
    return Write([&row](Database& database) { return InsertWorkload(database, row); });
  }

  void Append(Record record, AppendCallback done) override {
    if (!queue_) return done(ReadOnly());
    // Filled by the write, read by the callback: both run on the queue's thread.
    auto outcome = std::make_shared<Appended>(Appended::kDuplicate);
    queue_->Push(
        [record = std::move(record), outcome](Database& database) {
          MLC_TRY(Validate(record));
          const bool is_new = MLC_TRY(InsertRecord(database, record));
          *outcome = is_new ? Appended::kNew : Appended::kDuplicate;
          return Status();
        },
        [outcome, done = std::move(done)](const Status& status) {
          done(status.ok() ? Result<Appended>(*outcome) : Result<Appended>(status));
        });
  }

  Status Flush() override {
    return Write([](Database&) { return Status(); });
  }
  using TuningLog::PutJob;
  Status PutJob(const JobRow& job, std::span<const WorkloadRow> workloads) override {
    for (const WorkloadRow& row : workloads) MLC_TRY(CheckKey(row));
    return Write([&job, workloads](Database& database) {
      for (const WorkloadRow& row : workloads) MLC_TRY(InsertWorkload(database, row));
      return ReplaceJob(database, job);
    });
  }
  Status SaveModel(const ModelRow& model) override {
    return Write([&model](Database& database) { return InsertModel(database, model); });
  }
  Status PruneModels(std::span<const int64_t> pinned) override {
    return Write([pinned](Database& database) { return DeleteModels(database, pinned); });
  }
  Status PutAdminHold(const AdminHold& hold) override {
    return Write([&hold](Database& database) { return ReplaceAdminHold(database, hold); });
  }

  Result<std::vector<Record>> Best(const Digest& workload, const std::string& target, int limit,
                                   const Accept& accept) const override {
    return reads_.Best(workload, target, limit, accept);
  }
  Result<std::vector<Record>> Confirmations(const Digest& workload,
                                            const std::string& target) const override {
    return reads_.Confirmations(workload, target);
  }
  Result<std::optional<Record>> Find(const Digest& task_uid) const override {
    return reads_.Find(task_uid);
  }
  Result<std::vector<Record>> List(const RecordQuery& query) const override {
    return reads_.List(query);
  }
  Result<std::optional<WorkloadRow>> FindWorkload(const Digest& key) const override {
    return reads_.FindWorkload(key);
  }
  Result<std::vector<WorkloadRow>> Workloads(int64_t after_id, int64_t limit) const override {
    return reads_.Workloads(after_id, limit);
  }
  Result<std::vector<std::string>> Targets() const override { return reads_.Targets(); }
  Result<std::optional<JobRow>> FindJob(const Digest& id) const override {
    return reads_.FindJob(id);
  }
  Result<std::vector<JobRow>> Jobs(const JobQuery& asked) const override {
    return reads_.Jobs(asked);
  }
  Result<std::vector<ModelRow>> Models(const std::string& target, int64_t up_to_id) const override {
    return reads_.Models(target, up_to_id);
  }
  Result<std::vector<AdminHold>> AdminHolds() const override { return reads_.AdminHolds(); }
  Result<LogMoment> Now() const override { return reads_.Now(); }
  Result<LogStats> Stats() const override { return reads_.Stats(); }

 private:
  Status Write(CommitQueue::Write write) {
    return queue_ ? queue_->PushAndWait(std::move(write)) : ReadOnly();
  }

  std::optional<FileLock> lock_;  // released last
  SqliteReads reads_;
  std::optional<CommitQueue> queue_;
};

Status ConfigureWriter(Database& database) {
  return database.Execute(
      "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=0;"
      "PRAGMA foreign_keys=ON; PRAGMA trusted_schema=OFF");
}

// To SQLite an empty name is a file that goes away.
Status CheckName(const std::string& path) {
  if (path.empty()) return InvalidArgument("a tuning log needs a name");
  struct stat info;
  const bool is_folder = stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
  return is_folder ? InvalidArgument(path + " is a folder, not a tuning log: name a file in it")
                   : Status();
}

// SQLite would open a log that it cannot write for reading, and say something else later.
Status CheckWritable(const std::string& path) {
  for (const char* part : {"", "-wal", "-shm"}) {
    const std::string name = path + part;
    if (faccessat(AT_FDCWD, name.c_str(), R_OK | W_OK, AT_EACCESS) == 0 || errno == ENOENT) {
      continue;
    }
    return CannotOpen("cannot write", name, errno);
  }
  return Status();
}

}  // namespace

Result<std::unique_ptr<TuningLog>> OpenSqliteLog(const std::string& path,
                                                 std::function<void(double)> timed) {
  MLC_TRY(CheckName(path));
  FileLock lock = MLC_TRY(FileLock::Take(path));
  MLC_TRY(CheckWritable(path));
  Database writer = MLC_TRY(Database::Open(path, OpenMode::kReadWrite));
  MLC_TRY(ConfigureWriter(writer));
  MLC_TRY(PrepareSchema(writer, path));
  return std::unique_ptr<TuningLog>(
      std::make_unique<SqliteLog>(path, std::move(lock), std::move(writer), std::move(timed)));
}

Result<std::unique_ptr<TuningLog>> OpenSqliteLogForReading(const std::string& path) {
  MLC_TRY(CheckName(path));
  if (access(path.c_str(), F_OK) != 0) return NotFound("there is no tuning log " + path);
  auto log = std::make_unique<SqliteLog>(path);
  MLC_TRY(log->Probe());
  return std::unique_ptr<TuningLog>(std::move(log));
}

}  // namespace mlc::db
