// The schema of the log and its migrations. A file has the version of its schema (user_version) and
// the mark of a tuning log (application_id). Newer files are refused. The writer migrates older
// ones in one transaction, after a backup beside the file. Use it on the thread of the database.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "db/record_fields.h"
#include "db/sqlite/sqlite.h"

namespace mlc::db {

inline constexpr int kApplicationId = 0x4d4c4354;  // "MLCT"
// Version 3 has indexes whose order does not depend on that of the records; another later version
// comes with a field of records.
inline constexpr int kSchemaVersion = std::max(3, NewestField());

// One step: migrates a file of version `from` to `from + 1`.
struct Migration {
  int from = 0;
  std::string sql;
};

// From every version to the next one, in order: version 1 is the first. A step adds the columns of
// the fields that are `since` the version it leads to; the one to version 3 orders the indexes.
std::span<const Migration> Migrations();

// Version 1 of the schema as SQL (schema.sql).
std::string_view SchemaText();

// Creates version 1 in an empty file, and migrates it or an older file to `version`. An older file
// is backed up as "<path>.v<old>.bak" before. FAILED_PRECONDITION for a newer file, and for one
// from which no migration leads to `version`; INVALID_ARGUMENT for a file that is not a tuning log.
// A migration that fails changes nothing.
Status PrepareSchema(Database& database, const std::string& path,
                     std::span<const Migration> migrations = Migrations(),
                     int version = kSchemaVersion);
// For readers, which cannot migrate: checks that the file is a tuning log of `version`.
Status CheckSchema(Database& database, const std::string& path, int version = kSchemaVersion);

}  // namespace mlc::db
