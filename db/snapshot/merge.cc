#include "db/snapshot/merge.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/process/file_lock.h"
#include "db/snapshot/verify.h"
#include "db/sqlite/record_rows.h"
#include "db/sqlite/schema.h"
#include "db/sqlite/sqlite.h"
#include "db/sqlite/sqlite_log.h"

namespace mlc::db {
namespace {

constexpr int64_t kPage = 4096;

bool IsTaken(const MergeCounts& counts, const std::string& target) {
  const auto found =
      std::find_if(counts.targets.begin(), counts.targets.end(),
                   [&](const MergedTarget& merged) { return merged.target == target; });
  return found == counts.targets.end() || found->taken;
}

Status CopyRecords(Database& database, const TuningLog& source, MergeCounts& counts) {
  RecordQuery query;
  query.limit = kPage;
  while (true) {
    const std::vector<Record> page = MLC_TRY(source.List(query));
    if (page.empty()) return Status();
    for (const Record& record : page) {
      MLC_TRY(Validate(record));
      ++counts.read;
      if (!IsTaken(counts, record.target)) continue;
      counts.added += MLC_TRY(InsertRecord(database, record)) ? 1 : 0;
    }
    query.after_id = page.back().id;
  }
}

Status CopyWorkloads(Database& database, const TuningLog& source) {
  int64_t last = 0;
  while (true) {
    const std::vector<WorkloadRow> page = MLC_TRY(source.Workloads(last, kPage));
    if (page.empty()) return Status();
    for (const WorkloadRow& row : page) {
      if (mlc::DigestOf(std::string_view(row.text)) != row.key) {
        return DataLoss("workload " + row.key.ToText() + " is damaged: its text gives another key");
      }
      MLC_TRY(InsertWorkload(database, row));
    }
    last = page.back().id;
  }
}

Status CopyAll(Database& database, const TuningLog& source, MergeCounts& counts) {
  MLC_TRY(CopyWorkloads(database, source));
  MLC_TRY(CopyRecords(database, source, counts));
  for (const std::string& target : MLC_TRY(source.Targets())) {
    if (!IsTaken(counts, target)) continue;
    for (const ModelRow& model : MLC_TRY(source.Models(target))) {
      MLC_TRY(InsertModel(database, model));
    }
  }
  return Status();
}

Result<std::vector<MergedTarget>> Judge(const std::string& into, const TuningLog& source) {
  const std::unique_ptr<TuningLog> own = MLC_TRY(OpenSqliteLogForReading(into));
  std::vector<MergedTarget> judged;
  for (std::string& target : MLC_TRY(source.Targets())) {
    const Agreement agreement = MLC_TRY(AgreementOf(*own, source, target));
    judged.push_back({std::move(target), agreement, agreement.IsEnough()});
  }
  return judged;
}

// What is lost of a damaged file is not in what can be read of it.
Status CheckSound(const std::string& path) {
  const VerifyReport report = MLC_TRY(VerifyLog(path));
  if (report.problems.empty()) return Status();
  return DataLoss(path + " is damaged: " + report.problems[0] +
                  "; mlc-log verify lists all problems");
}

}  // namespace

Result<MergeCounts> Merge(const std::string& into, const std::string& from, Trust trust) {
  const std::unique_ptr<TuningLog> source = MLC_TRY(OpenSqliteLogForReading(from));
  MLC_TRY(CheckSound(from).WithPrefix("nothing merged"));
  // Creates, migrates and configures the file; the lock is taken anew below.
  MLC_TRY(OpenSqliteLog(into)).reset();
  MergeCounts counts;
  if (trust == Trust::kAgreeing) counts.targets = MLC_TRY(Judge(into, *source));
  FileLock lock = MLC_TRY(FileLock::Take(into));
  Database database = MLC_TRY(Database::Open(into, OpenMode::kReadWrite));
  MLC_TRY(database.Execute("PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON; BEGIN IMMEDIATE"));
  const Status copied = CopyAll(database, *source, counts);
  const Status committed = copied.ok() ? database.Execute("COMMIT") : copied;
  if (committed.ok()) return counts;
  if (!database.InAutocommit()) (void)database.Execute("ROLLBACK");
  return committed.WithPrefix("nothing merged");
}

}  // namespace mlc::db
