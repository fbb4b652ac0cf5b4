#include "db/sqlite/schema.h"

#include <unistd.h>

#include <string>
#include <vector>

namespace mlc::db {
namespace {

std::string Schema(int64_t version) { return "schema " + std::to_string(version); }

Status Newer(const std::string& path, int64_t found, int version) {
  return FailedPrecondition("tuning log " + path + " is from a newer mlc-tune (" + Schema(found) +
                            ", this program knows " + std::to_string(version) +
                            "): use that version, or another --log");
}

Status Foreign(const std::string& path) {
  return InvalidArgument(path + " is an SQLite file but not a tuning log");
}

std::string Quoted(const std::string& text) {
  std::string quoted = "'";
  for (char c : text) quoted.append(c == '\'' ? 2 : 1, c);
  return quoted + "'";
}

template <typename Act>
Status InTransaction(Database& database, const Act& act) {
  MLC_TRY(database.Execute("BEGIN IMMEDIATE"));
  Status status = act();
  if (status.ok()) status = database.Execute("COMMIT");
  if (!status.ok() && !database.InAutocommit()) (void)database.Execute("ROLLBACK");
  return status;
}

Status SetVersion(Database& database, int version) {
  return database.Execute("PRAGMA user_version=" + std::to_string(version));
}

Status Create(Database& database, int version) {
  return InTransaction(database, [&]() -> Status {
    MLC_TRY(database.Execute(std::string(SchemaText())));
    MLC_TRY(database.Execute("PRAGMA application_id=" + std::to_string(kApplicationId)));
    return SetVersion(database, version);
  });
}

Status Backup(Database& database, const std::string& path, int64_t found) {
  const std::string backup = path + ".v" + std::to_string(found) + ".bak";
  (void)unlink(backup.c_str());  // left by an earlier attempt that did not migrate
  return database.Execute("VACUUM INTO " + Quoted(backup)).WithPrefix("backup before migration");
}

// The steps from `found` to `version`, without a gap.
Result<std::vector<Migration>> StepsFrom(int64_t found, int version,
                                         std::span<const Migration> migrations,
                                         const std::string& path) {
  std::vector<Migration> steps;
  int64_t at = found;
  for (const Migration& step : migrations) {
    if (step.from != at || at == version) continue;
    steps.push_back(step);
    ++at;
  }
  if (at == version) return steps;
  return FailedPrecondition("tuning log " + path + " has " + Schema(found) +
                            ", from which this program has no migration to " + Schema(version) +
                            ": use the version that wrote it, or another --log");
}

Status Migrate(Database& database, const std::vector<Migration>& steps, int version) {
  return InTransaction(database, [&]() -> Status {
    for (const Migration& step : steps) {
      MLC_TRY(database.Execute(std::string(step.sql))
                  .WithPrefix("migration of the tuning log from " + Schema(step.from)));
    }
    return SetVersion(database, version);
  });
}

}  // namespace

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
  const std::vector<Migration> steps = MLC_TRY(StepsFrom(found, version, migrations, path));
  MLC_TRY(Backup(database, path, found));
  return Migrate(database, steps, version);
}

Status CheckSchema(Database& database, const std::string& path, int version) {
  const int64_t id = MLC_TRY(database.Integer("PRAGMA application_id"));
  const int64_t found = MLC_TRY(database.Integer("PRAGMA user_version"));
  if (id != kApplicationId) return Foreign(path);
  if (found > version) return Newer(path, found, version);
  if (found == version) return Status();
  return FailedPrecondition("tuning log " + path + " has the older " + Schema(found) +
                            ", this program reads " + std::to_string(version) +
                            ": open it once with mlc-log merge or mlc-server to migrate it");
}

}  // namespace mlc::db
