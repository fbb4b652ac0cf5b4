// Converts records, jobs and models to and from rows. No other file knows the columns. Use it on
// the thread of the database.
#pragma once

#include <span>
#include <string>

#include "base/status.h"
#include "db/record.h"
#include "db/sqlite/sqlite.h"

namespace mlc::db {

// "SELECT <columns> FROM record ..." ready for a WHERE clause; RecordFrom reads its rows.
// It starts with the numbers of workload and target.
extern const std::string kSelectRecord;
inline constexpr int kWorkloadColumn = 0;
inline constexpr int kTargetColumn = 1;
Record RecordFrom(const Statement& row);
// Returns kInfra, which the log never stores, for a number that is no outcome.
Outcome OutcomeAt(const Statement& row, int column);
// DATA_LOSS, with the record, if its stored digest is not the digest of its fields.
Status CheckDigest(const Statement& row, const Record& record);

// Returns true if the record is new. Adds its target. INVALID_ARGUMENT if its workload is not in
// the log.
Result<bool> InsertRecord(Database& database, const Record& record);
Status InsertWorkload(Database& database, const WorkloadRow& row);
Status ReplaceJob(Database& database, const JobRow& job);
// See TuningLog::PutAdminHold.
Status ReplaceAdminHold(Database& database, const AdminHold& hold);
Status InsertModel(Database& database, const ModelRow& model);
// See TuningLog::PruneModels.
Status DeleteModels(Database& database, std::span<const int64_t> pinned);

}  // namespace mlc::db
