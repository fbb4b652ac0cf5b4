// The log's schema and its ladder of migrations. A file says which version it has (user_version)
// and that it is ours (application_id). Newer files are refused, older ones are brought up one step
// and one transaction at a time, after a backup beside the file.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "compiler/base/status.h"
#include "db/sqlite.h"

namespace mlc::db {

inline constexpr int kApplicationId = 0x4d4c4354;  // "MLCT"
inline constexpr int kSchemaVersion = 6;
// Readers take older files as they are, back to this one.
inline constexpr int kOldestReadable = 1;

// One step: brings a file of version `from` to `from + 1`.
struct Migration {
  int from = 0;
  std::string_view sql;
};

// The current schema as SQL, for new files (schema.sql).
std::string_view SchemaText();
// Every released step, in order.
std::span<const Migration> Migrations();

// Creates the schema in an empty file or migrates an older one to `version`. The backup is
// "<path>.v<old>.bak". FAILED_PRECONDITION for a newer file, INVALID_ARGUMENT for a foreign one.
Status PrepareSchema(Database& database, const std::string& path,
                     std::span<const Migration> migrations = Migrations(),
                     int version = kSchemaVersion);
// For readers, which cannot migrate: the file is ours and of a version that they can read.
Status CheckSchema(Database& database, const std::string& path);

}  // namespace mlc::db
