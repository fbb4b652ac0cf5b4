#include "db/verify.h"

#include "db/record_rows.h"
#include "db/schema.h"
#include "db/sqlite.h"

namespace mlc::db {
namespace {

void Note(VerifyReport& report, std::string problem) {
  if (report.problems.size() < kMaxProblems) report.problems.push_back(std::move(problem));
}

Status CheckStructure(Database& database, VerifyReport& report) {
  Statement integrity = MLC_TRY(database.Prepare("PRAGMA integrity_check(20)"));
  while (MLC_TRY(integrity.Step())) {
    const std::string line = integrity.Text(0);
    if (line != "ok") Note(report, "structure: " + line);
  }
  Statement keys = MLC_TRY(database.Prepare("PRAGMA foreign_key_check"));
  while (MLC_TRY(keys.Step())) {
    Note(report, "table " + keys.Text(0) + " row " + keys.Text(1) + " refers to nothing in " +
                     keys.Text(2));
  }
  return Status();
}

Status CheckWorkloads(Database& database, VerifyReport& report) {
  Statement rows = MLC_TRY(database.Prepare("SELECT id, key, text FROM workload ORDER BY id"));
  while (MLC_TRY(rows.Step())) {
    ++report.workloads;
    if (mlc::DigestOf(std::string_view(rows.Text(2))) != rows.DigestAt(1)) {
      Note(report, "workload " + rows.Text(0) + ": its text does not give its key");
    }
  }
  return Status();
}

Status CheckRecords(Database& database, VerifyReport& report) {
  Statement rows = MLC_TRY(database.Prepare(kSelectRecord + " ORDER BY r.id"));
  while (MLC_TRY(rows.Step())) {
    ++report.records;
    const Record record = RecordFrom(rows);
    const Status digest = CheckDigest(rows, record);
    if (!digest.ok()) Note(report, digest.message());
    const Status rules = Validate(record);
    if (!rules.ok()) Note(report, "record " + std::to_string(record.id) + ": " + rules.message());
  }
  return Status();
}

}  // namespace

Result<VerifyReport> VerifyLog(const std::string& path) {
  Database database = MLC_TRY(Database::Open(path, OpenMode::kReadOnly));
  MLC_TRY(CheckSchema(database, path));
  VerifyReport report;
  // Damage shows as a problem where SQLite finds it while reading, too.
  for (auto check : {CheckStructure, CheckWorkloads, CheckRecords}) {
    const Status status = check(database, report);
    if (!status.ok()) Note(report, status.message());
  }
  return report;
}

}  // namespace mlc::db
