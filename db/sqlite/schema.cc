#include "db/sqlite/schema.h"

#include <unistd.h>

#include <concepts>
#include <string>
#include <type_traits>
#include <vector>

#include "base/text.h"

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

Status TakeSteps(Database& database, const std::vector<Migration>& steps, int version) {
  for (const Migration& step : steps) {
    MLC_TRY(database.Execute(step.sql).WithPrefix("migration of the tuning log from " +
                                                  Schema(step.from)));
  }
  return SetVersion(database, version);
}

Status Create(Database& database, const std::vector<Migration>& steps, int version) {
  return InTransaction(database, [&]() -> Status {
    MLC_TRY(database.Execute(std::string(SchemaText())));
    MLC_TRY(database.Execute("PRAGMA application_id=" + std::to_string(kApplicationId)));
    return TakeSteps(database, steps, version);
  });
}

Status Migrate(Database& database, const std::vector<Migration>& steps, int version) {
  return InTransaction(database, [&] { return TakeSteps(database, steps, version); });
}

std::string ColumnOf(const FieldInfo& field, const std::string& type, const std::string& absent) {
  return "ALTER TABLE record ADD COLUMN " + std::string(field.name) + " " + type +
         " NOT NULL DEFAULT " + absent;
}

// A column with the rules that Validate has for the field.
std::string AddColumn(const FieldInfo& field, double) {
  const std::string name(field.name);
  std::string sql = ColumnOf(field, "REAL", "0") + " CHECK(" + name + " >= 0";
  if (field.limit > 0) sql += " AND " + name + " < " + FloatToText(field.limit);
  return sql + ");";
}

template <std::integral Integer>
std::string AddColumn(const FieldInfo& field, Integer) {
  std::string sql = ColumnOf(field, "INTEGER", "0");
  if (field.range != Range::kAny) sql += " CHECK(" + std::string(field.name) + " >= 0)";
  return sql + ";";
}

std::string AddColumn(const FieldInfo& field, const std::string&) {
  return ColumnOf(field, "TEXT", "''") + ";";
}

// Ends each index in what the records hold, so that equal times and moments need no sorting.
constexpr char kOrderIndexes[] =
    "DROP INDEX record_best;"
    "CREATE INDEX record_best ON record(workload, target, median_ns, task_uid) WHERE outcome = 0;"
    "DROP INDEX record_confirmed;"
    "CREATE INDEX record_confirmed ON record(workload, target, created_us, task_uid)"
    " WHERE outcome = 0 AND arm = 'verify';";

std::vector<Migration> AllMigrations() {
  std::vector<Migration> steps;
  for (int from = 1; from < kSchemaVersion; ++from) steps.push_back({from, ""});
  const Record record;
  VisitFields(record, [&](const FieldInfo& field, const auto& value) {
    // Of digests and outcomes there is none that a record may lack.
    using Value = std::decay_t<decltype(value)>;
    if constexpr (std::is_arithmetic_v<Value> || std::is_same_v<Value, std::string>) {
      if (field.since > 1) {
        steps[static_cast<size_t>(field.since) - 2].sql += AddColumn(field, value);
      }
    }
  });
  steps[1].sql += kOrderIndexes;
  return steps;
}

}  // namespace

std::span<const Migration> Migrations() {
  static const std::vector<Migration> kAll = AllMigrations();
  return kAll;
}

Status PrepareSchema(Database& database, const std::string& path,
                     std::span<const Migration> migrations, int version) {
  const int64_t id = MLC_TRY(database.Integer("PRAGMA application_id"));
  const int64_t found = MLC_TRY(database.Integer("PRAGMA user_version"));
  if (id == 0 && found == 0) {
    if (MLC_TRY(database.Integer("SELECT count(*) FROM sqlite_schema")) != 0) return Foreign(path);
    return Create(database, MLC_TRY(StepsFrom(1, version, migrations, path)), version);
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
