// The schema of the log and its migrations. A file has the version of its schema (user_version) and
// the mark of a tuning log (application_id). Newer files are refused. The writer migrates older
// ones in one transaction, after a backup beside the file.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "db/sqlite/sqlite.h"

namespace mlc::db {

inline constexpr int kApplicationId = 0x4d4c4354;  // "MLCT"
inline constexpr int kSchemaVersion = 1;

// One step: migrates a file of version `from` to `from + 1`.
struct Migration {
  int from = 0;
  std::string_view sql;
};

// The steps in order. Version 1 is the first.
inline constexpr std::span<const Migration> kMigrations = {};

// The current schema as SQL, for new files (schema.sql).
std::string_view SchemaText();

// Creates the schema in an empty file, or migrates an older file to `version` with a backup
// "<path>.v<old>.bak". FAILED_PRECONDITION for a newer file, and for one from which no migration
// leads to `version`; INVALID_ARGUMENT for a file that is not a tuning log. A migration that fails
// changes nothing.
Status PrepareSchema(Database& database, const std::string& path,
                     std::span<const Migration> migrations = kMigrations,
                     int version = kSchemaVersion);
// For readers, which cannot migrate: checks that the file is a tuning log of `version`.
Status CheckSchema(Database& database, const std::string& path, int version = kSchemaVersion);

}  // namespace mlc::db
