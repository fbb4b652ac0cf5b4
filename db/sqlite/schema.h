// The log's schema and its ladder of migrations. A file says which version it has (user_version)
// and that it is ours (application_id). Newer files are refused; older ones are brought up to date
// by the writer, after a backup beside the file and in one transaction.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "db/sqlite/sqlite.h"

namespace mlc::db {

inline constexpr int kApplicationId = 0x4d4c4354;  // "MLCT"
inline constexpr int kSchemaVersion = 1;

// One step: brings a file of version `from` to `from + 1`.
struct Migration {
  int from = 0;
  std::string_view sql;
};

// From every released version to the next one, in order: version 1 is the first.
inline constexpr std::span<const Migration> kMigrations = {};

// The current schema as SQL, for new files (schema.sql).
std::string_view SchemaText();

// Creates the schema in an empty file or migrates an older one to `version`. The backup is
// "<path>.v<old>.bak". FAILED_PRECONDITION for a newer file and for one from which no migration
// leads here, INVALID_ARGUMENT for a foreign one; a migration that fails leaves the file as it was.
Status PrepareSchema(Database& database, const std::string& path,
                     std::span<const Migration> migrations = kMigrations,
                     int version = kSchemaVersion);
// For readers, which cannot migrate: the file is ours and of `version`.
Status CheckSchema(Database& database, const std::string& path, int version = kSchemaVersion);

}  // namespace mlc::db
