#include "db/schema.h"

#include <unistd.h>

#include <string>

namespace mlc::db {
namespace {

Status Newer(const std::string& path, int64_t found, int version) {
  return FailedPrecondition("tuning log " + path + " is from a newer mlc-tune (schema " +
                            std::to_string(found) + ", this program knows " +
                            std::to_string(version) + "): use that version, or another --log");
}

Status Foreign(const std::string& path) {
  return InvalidArgument(path + " is an SQLite file but not a tuning log");
}

std::string Quoted(const std::string& text) {
  std::string quoted = "'";
  for (char c : text) quoted.append(c == '\'' ? 2 : 1, c);
  return quoted + "'";
}

Status InTransaction(Database& database, const std::string& sql) {
  MLC_TRY(database.Execute("BEGIN IMMEDIATE"));
  Status status = database.Execute(sql);
  if (status.ok()) status = database.Execute("COMMIT");
  if (!status.ok() && !database.InAutocommit()) (void)database.Execute("ROLLBACK");
  return status;
}

Status Create(Database& database, int version) {
  return InTransaction(database, std::string(SchemaText()) +
                                     ";PRAGMA application_id=" + std::to_string(kApplicationId) +
                                     ";PRAGMA user_version=" + std::to_string(version));
}

Status Backup(Database& database, const std::string& path, int64_t found) {
  const std::string backup = path + ".v" + std::to_string(found) + ".bak";
  (void)unlink(backup.c_str());  // left by an earlier attempt that did not migrate
  return database.Execute("VACUUM INTO " + Quoted(backup)).WithPrefix("backup before migration");
}

}  // namespace

std::span<const Migration> Migrations() {
  static constexpr Migration kSteps[] = {
      // Models get versions, so that a job that goes on finds the ones it started from.
      {1,
       "ALTER TABLE model_blob RENAME TO model_before;"
       "CREATE TABLE model_blob("
       "  id INTEGER PRIMARY KEY,"
       "  family TEXT NOT NULL,"
       "  target TEXT NOT NULL,"
       "  features BLOB NOT NULL CHECK(length(features) = 16),"
       "  bytes BLOB NOT NULL,"
       "  created_us INTEGER NOT NULL,"
       "  digest BLOB NOT NULL CHECK(length(digest) = 16)"
       ") STRICT;"
       "INSERT INTO model_blob(family, target, features, bytes, created_us, digest)"
       "  SELECT family, target, features, bytes, created_us, digest FROM model_before"
       "  ORDER BY created_us, rowid;"
       "DROP TABLE model_before;"
       "CREATE INDEX model_version ON model_blob(family, target, features, id)"},
      // Jobs belong to somebody, and their end is remembered whole.
      {2,
       "ALTER TABLE job ADD COLUMN owner TEXT NOT NULL DEFAULT '';"
       "ALTER TABLE job ADD COLUMN priority INTEGER NOT NULL DEFAULT 0"
       "  CHECK(priority BETWEEN -100 AND 100);"
       "ALTER TABLE job ADD COLUMN spent_ms INTEGER NOT NULL DEFAULT 0 CHECK(spent_ms >= 0);"
       "ALTER TABLE job ADD COLUMN changed_us INTEGER NOT NULL DEFAULT 0;"
       "ALTER TABLE job ADD COLUMN progress TEXT NOT NULL DEFAULT '';"
       "UPDATE job SET changed_us = created_us;"
       "CREATE INDEX job_state ON job(state)"},
      // What people decided about workers outlives the server; confirmations are found at once.
      {3,
       "CREATE INDEX record_confirmed ON record(workload, target)"
       "  WHERE outcome = 0 AND arm = 'verify';"
       "CREATE TABLE worker_hold("
       "  worker TEXT PRIMARY KEY CHECK(length(worker) > 0),"
       "  quarantine TEXT NOT NULL,"
       "  drain TEXT NOT NULL,"
       "  boot TEXT NOT NULL,"
       "  changed_us INTEGER NOT NULL,"
       "  CHECK(length(quarantine) > 0 OR length(drain) > 0)"
       ") STRICT, WITHOUT ROWID"},
      // Configs that bring a long source are stored once, beside the records that name them.
      {4,
       "CREATE TABLE long_config("
       "  id INTEGER PRIMARY KEY,"
       "  name TEXT NOT NULL UNIQUE CHECK(length(name) BETWEEN 3 AND 8191),"
       "  text TEXT NOT NULL CHECK(length(text) BETWEEN 8192 AND 1572864)"
       ") STRICT"},
      // Jobs are found by what they ask for, and count the crashes of the server that they cause.
      // Of a job that knew nothing of others the options say so; its base the server works out.
      {5,
       "ALTER TABLE job ADD COLUMN base BLOB CHECK(base IS NULL OR length(base) = 16);"
       "ALTER TABLE job ADD COLUMN crashes INTEGER NOT NULL DEFAULT 0 CHECK(crashes >= 0);"
       "UPDATE job SET base = id WHERE options NOT LIKE '%\"use_history\":false%';"
       "CREATE INDEX job_base ON job(base, created_us);"
       "CREATE INDEX job_created ON job(created_us)"},
  };
  return kSteps;
}

Status PrepareSchema(Database& database, const std::string& path,
                     std::span<const Migration> migrations, int version) {
  const int64_t id = MLC_TRY(database.Integer("PRAGMA application_id"));
  const int64_t found = MLC_TRY(database.Integer("PRAGMA user_version"));
  if (id == 0 && found == 0) {
    if (MLC_TRY(database.Integer("SELECT count(*) FROM sqlite_schema")) != 0) return Foreign(path);
    return Create(database, version);
  }
  if (id != kApplicationId) return Foreign(path);
  if (found > version) return Newer(path, found, version);
  if (found == version) return Status();
  MLC_TRY(Backup(database, path, found));
  for (const Migration& step : migrations) {
    if (step.from < found) continue;
    MLC_TRY(InTransaction(
        database, std::string(step.sql) + ";PRAGMA user_version=" + std::to_string(step.from + 1)));
  }
  if (MLC_TRY(database.Integer("PRAGMA user_version")) != version) {
    return FailedPrecondition("tuning log " + path + " has schema " + std::to_string(found) +
                              ", from which there is no migration");
  }
  return Status();
}

Status CheckSchema(Database& database, const std::string& path) {
  const int64_t id = MLC_TRY(database.Integer("PRAGMA application_id"));
  const int64_t found = MLC_TRY(database.Integer("PRAGMA user_version"));
  if (id != kApplicationId) return Foreign(path);
  if (found > kSchemaVersion) return Newer(path, found, kSchemaVersion);
  if (found < kOldestReadable) {
    return FailedPrecondition("tuning log " + path + " has the older schema " +
                              std::to_string(found) +
                              ": open it once with mlc-log merge or mlc-server to migrate it");
  }
  // Reads of records name the table: older files, which are not migrated here, have none.
  if (found < 5) return database.Execute("CREATE TEMP TABLE long_config(name TEXT, text TEXT)");
  return Status();
}

}  // namespace mlc::db
