#include "db/snapshot/merge.h"

#include <memory>

#include "base/process/file_lock.h"
#include "db/snapshot/verify.h"
#include "db/sqlite/record_rows.h"
#include "db/sqlite/schema.h"
#include "db/sqlite/sqlite.h"
#include "db/sqlite/sqlite_log.h"

namespace mlc::db {
namespace {

constexpr int64_t kPage = 4096;

Status CopyRecords(Database& database, const TuningLog& source, MergeCounts& counts) {
  RecordQuery query;
  query.limit = kPage;
  while (true) {
    const std::vector<Record> page = MLC_TRY(source.List(query));
    if (page.empty()) return Status();
    for (const Record& record : page) {
      MLC_TRY(Validate(record));
      ++counts.read;
      counts.added += MLC_TRY(InsertRecord(database, record)) ? 1 : 0;
    }
    query.after_id = page.back().id;
  }
}

Result<MergeCounts> CopyAll(Database& database, const TuningLog& source) {
  MergeCounts counts;
  for (const WorkloadRow& row : MLC_TRY(source.Workloads())) {
    if (mlc::DigestOf(std::string_view(row.text)) != row.key) {
      return DataLoss("workload " + row.key.ToText() + " is damaged: its text gives another key");
    }
    MLC_TRY(InsertWorkload(database, row));
  }
  MLC_TRY(CopyRecords(database, source, counts));
  for (const std::string& target : MLC_TRY(source.Targets())) {
    for (const ModelRow& model : MLC_TRY(source.Models(target))) {
      MLC_TRY(InsertModel(database, model));
    }
  }
  return counts;
}

// What is lost of a damaged file is not in what can be read of it.
Status CheckSound(const std::string& path) {
  const VerifyReport report = MLC_TRY(VerifyLog(path));
  if (report.problems.empty()) return Status();
  return DataLoss(path + " is damaged: " + report.problems[0] +
                  "; mlc-log verify lists all problems");
}

}  // namespace

Result<MergeCounts> Merge(const std::string& into, const std::string& from) {
  const std::unique_ptr<TuningLog> source = MLC_TRY(OpenSqliteLogForReading(from));
  MLC_TRY(CheckSound(from).WithPrefix("nothing merged"));
  // Creates, migrates and configures the file; the lock is taken anew below.
  MLC_TRY(OpenSqliteLog(into)).reset();
  FileLock lock = MLC_TRY(FileLock::Take(into));
  Database database = MLC_TRY(Database::Open(into, OpenMode::kReadWrite));
  MLC_TRY(database.Execute("PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON; BEGIN IMMEDIATE"));
  Result<MergeCounts> counts = CopyAll(database, *source);
  const Status committed = counts.ok() ? database.Execute("COMMIT") : counts.status();
  if (committed.ok()) return counts;
  if (!database.InAutocommit()) (void)database.Execute("ROLLBACK");
  return committed.WithPrefix("nothing merged");
}

}  // namespace mlc::db
