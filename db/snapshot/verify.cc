#include "db/snapshot/verify.h"

#include <future>
#include <initializer_list>
#include <utility>

#include "db/sqlite/index_check.h"
#include "db/sqlite/record_rows.h"
#include "db/sqlite/schema.h"
#include "db/sqlite/sqlite.h"

namespace mlc::db {
namespace {

void Note(VerifyReport& report, std::string problem) {
  if (report.problems.size() < kMaxProblems) report.problems.push_back(std::move(problem));
}

Status CheckIntegrity(Database& database, const std::string& pragma, VerifyReport& report) {
  Statement integrity = MLC_TRY(database.Prepare("PRAGMA " + pragma));
  while (MLC_TRY(integrity.Step())) {
    const std::string line = integrity.Text(0);
    if (line != "ok") Note(report, "structure: " + line);
  }
  return Status();
}

// All pages and rows, and the indexes of all tables but the long one: see CheckRecords.
Status CheckStructure(Database& database, VerifyReport& report) {
  MLC_TRY(CheckIntegrity(database, "quick_check(20)", report));
  for (const char* table : {"workload", "target", "job", "job_task", "model_blob"}) {
    MLC_TRY(CheckIntegrity(database, "integrity_check(" + std::string(table) + ")", report));
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
  // Rows and indexes of one moment, also where others write.
  MLC_TRY(database.Execute("BEGIN"));
  Statement rows = MLC_TRY(database.Prepare(kSelectRecord + " ORDER BY r.id"));
  IndexCheck indexes;
  while (MLC_TRY(rows.Step())) {
    ++report.records;
    const Record record = RecordFrom(rows);
    const Status digest = CheckDigest(rows, record);
    if (!digest.ok()) Note(report, digest.message());
    if (record.id < 1) {
      Note(report, "record " + std::to_string(record.id) + ": no log numbers a record so");
    }
    const Status rules = Validate(record);
    if (!rules.ok()) Note(report, "record " + std::to_string(record.id) + ": " + rules.message());
    indexes.AddRow(record, rows.Int(kWorkloadColumn), rows.Int(kTargetColumn));
  }
  const Status compared = indexes.Compare(database);
  if (!compared.ok()) Note(report, "structure: " + compared.message());
  return Status();
}

Status CheckModels(Database& database, VerifyReport& report) {
  Statement rows = MLC_TRY(database.Prepare("SELECT rowid, family, bytes, digest FROM model_blob"));
  while (MLC_TRY(rows.Step())) {
    if (mlc::DigestOf(std::string_view(rows.Blob(2))) == rows.DigestAt(3)) continue;
    Note(report, "cost model " + rows.Text(0) + " of " + rows.Text(1) +
                     ": its bytes do not give its digest");
  }
  return Status();
}

using Check = Status (*)(Database&, VerifyReport&);

VerifyReport Run(const std::string& path, std::initializer_list<Check> checks) {
  VerifyReport report;
  Result<Database> database = Database::Open(path, OpenMode::kReadOnly);
  if (!database.ok()) {
    Note(report, database.status().message());
    return report;
  }
  const Status schema = CheckSchema(*database, path);
  if (!schema.ok()) {
    Note(report, schema.message());
    return report;
  }
  // Damage shows as a problem where SQLite finds it while reading, too.
  for (Check check : checks) {
    const Status status = check(*database, report);
    if (!status.ok()) Note(report, status.message());
  }
  return report;
}

}  // namespace

Result<VerifyReport> VerifyLog(const std::string& path) {
  {
    Database database = MLC_TRY(Database::Open(path, OpenMode::kReadOnly));
    MLC_TRY(CheckSchema(database, path));
  }
  // The records take as long as all the rest.
  std::future<VerifyReport> rest = std::async(std::launch::async, [&path] {
    return Run(path, {CheckStructure, CheckWorkloads, CheckModels});
  });
  VerifyReport records = Run(path, {CheckRecords});
  VerifyReport report = rest.get();
  report.records = records.records;
  for (std::string& problem : records.problems) Note(report, std::move(problem));
  return report;
}

}  // namespace mlc::db
