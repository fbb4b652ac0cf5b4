#include "db/sqlite/record_rows.h"

#include <concepts>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "db/record_fields.h"

namespace mlc::db {
namespace {

constexpr size_t kLongestInRow = 8191;

bool HasTime(Outcome outcome) { return outcome == Outcome::kOk || outcome == Outcome::kTooSlow; }

Result<std::optional<int64_t>> IdOfWorkload(Database& database, const Digest& key) {
  Statement& find = *MLC_TRY(database.Cached("SELECT id FROM workload WHERE key=?"));
  find.Bind(key);
  std::optional<int64_t> id;
  if (MLC_TRY(find.Step())) id = find.Int(0);
  find.Reset();
  return id;
}

Result<int64_t> RequireWorkload(Database& database, const Digest& key) {
  const std::optional<int64_t> id = MLC_TRY(IdOfWorkload(database, key));
  if (!id) return InvalidArgument("workload " + key.ToText() + " is not in the log");
  return *id;
}

Result<int64_t> IdOfTarget(Database& database, const std::string& text) {
  Statement& find = *MLC_TRY(database.Cached("SELECT id FROM target WHERE class=?"));
  find.Bind(text);
  std::optional<int64_t> id;
  if (MLC_TRY(find.Step())) id = find.Int(0);
  find.Reset();
  if (id) return *id;
  Statement& add = *MLC_TRY(database.Cached("INSERT INTO target(class) VALUES(?)"));
  add.Bind(text);
  MLC_TRY(add.Run());
  return database.LastInsertId();
}

// What the record's row says: a long config is stored once, and named by its head and its digest.
// No config's own text has a '#'.
Result<std::string> StoredConfig(Database& database, const std::string& config) {
  if (config.size() <= kLongestInRow) return config;
  const std::string name =
      config.substr(0, config.find(' ')) + " #" + mlc::DigestOf(std::string_view(config)).ToText();
  Statement& add = *MLC_TRY(database.Cached(
      "INSERT INTO long_config(name, text) VALUES(?,?) ON CONFLICT(name) DO NOTHING"));
  add.Bind(std::string_view(name)).Bind(std::string_view(config));
  MLC_TRY(add.Run());
  return name;
}

void Read(const Statement& row, int column, Digest& value) { value = row.DigestAt(column); }
void Read(const Statement& row, int column, std::string& value) { value = row.Text(column); }
void Read(const Statement& row, int column, double& value) { value = row.Real(column); }
void Read(const Statement& row, int column, Outcome& value) { value = OutcomeAt(row, column); }
template <std::integral Integer>
void Read(const Statement& row, int column, Integer& value) {
  value = static_cast<Integer>(row.Int(column));
}

void Write(Statement& row, const Digest& value) { row.Bind(value); }
void Write(Statement& row, const std::string& value) { row.Bind(std::string_view(value)); }
void Write(Statement& row, double value) { row.BindReal(value); }
void Write(Statement& row, Outcome value) { row.Bind(static_cast<int64_t>(value)); }
template <std::integral Integer>
void Write(Statement& row, Integer value) {
  row.Bind(static_cast<int64_t>(value));
}

// Of kSelectRecord, after the workload and the target.
constexpr int kIdColumn = 2;
constexpr int kDigestColumn = 3;
constexpr int kFirstField = 4;

// Where the field's value stands, for rows of the tables in SelectRecord.
std::string Source(std::string_view field) {
  if (field == "workload") return "w.key";
  if (field == "target") return "t.class";
  if (field == "config") {
    return "CASE WHEN r.family='user_kernel' AND instr(r.config, '#')>0 THEN"
           " (SELECT text FROM long_config WHERE name=r.config) ELSE r.config END";
  }
  return "r." + std::string(field);
}

std::string SelectRecord() {
  std::string sql = "SELECT r.workload, r.target, r.id, r.digest";
  const Record record;
  VisitFields(record,
              [&](const FieldInfo& field, const auto&) { sql += ", " + Source(field.name); });
  return sql + " FROM record r JOIN workload w ON w.id=r.workload JOIN target t ON t.id=r.target";
}

std::string InsertSql() {
  std::string sql = "INSERT INTO record(family, family_version, digest";
  std::string values = "?,?,?";
  const Record record;
  VisitFields(record, [&](const FieldInfo& field, const auto&) {
    sql += ", " + std::string(field.name);
    values += ",?";
  });
  return sql + ") VALUES(" + values + ") ON CONFLICT(task_uid) DO NOTHING";
}

}  // namespace

Outcome OutcomeAt(const Statement& row, int column) {
  const int64_t number = row.Int(column);
  const bool known = number >= 0 && number < static_cast<int64_t>(Outcome::kInfra);
  return known ? static_cast<Outcome>(number) : Outcome::kInfra;
}

const std::string kSelectRecord = SelectRecord();

Record RecordFrom(const Statement& row) {
  Record record;
  record.id = row.Int(kIdColumn);
  int column = kFirstField;
  VisitFields(record, [&](const FieldInfo&, auto& value) { Read(row, column++, value); });
  return record;
}

Status CheckDigest(const Statement& row, const Record& record) {
  if (row.DigestAt(kDigestColumn) == DigestOf(record)) return Status();
  return DataLoss("record " + std::to_string(record.id) + " (" + record.task_uid.ToText() +
                  ") is damaged: its fields do not give its digest; run mlc-log verify");
}

Result<bool> InsertRecord(Database& database, const Record& record) {
  static const std::string kSql = InsertSql();
  const int64_t workload = MLC_TRY(RequireWorkload(database, record.workload));
  const int64_t target = MLC_TRY(IdOfTarget(database, record.target));
  const FamilyVersion family = MLC_TRY(FamilyOf(record.config));
  const std::string config = MLC_TRY(StoredConfig(database, record.config));
  Statement& add = *MLC_TRY(database.Cached(kSql));
  add.Bind(std::string_view(family.family)).Bind(int64_t{family.version}).Bind(DigestOf(record));
  VisitFields(record, [&](const FieldInfo& field, const auto& value) {
    if (field.name == "workload") {
      add.Bind(workload);
    } else if (field.name == "target") {
      add.Bind(target);
    } else if (field.name == "config") {
      add.Bind(std::string_view(config));
    } else if (field.name == "median_ns" && !HasTime(record.measurement.outcome)) {
      add.BindNull();
    } else {
      Write(add, value);
    }
  });
  MLC_TRY(add.Run());
  return database.Changes() == 1;
}

Status InsertWorkload(Database& database, const WorkloadRow& row) {
  Statement& add = *MLC_TRY(database.Cached(
      "INSERT INTO workload(key, text, summary) VALUES(?,?,?) ON CONFLICT(key) DO NOTHING"));
  add.Bind(row.key).Bind(std::string_view(row.text)).Bind(std::string_view(row.summary));
  return add.Run();
}

Status ReplaceJob(Database& database, const JobRow& job) {
  Statement& put = *MLC_TRY(database.Cached(
      "INSERT INTO job(id, label, target, options, state, trials, watermark, detail, created_us,"
      " owner, priority, spent_ms, changed_us, progress, base, crashes)"
      " VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT(id) DO UPDATE SET label=excluded.label,"
      " target=excluded.target, options=excluded.options, state=excluded.state,"
      " trials=excluded.trials, watermark=excluded.watermark, detail=excluded.detail,"
      " created_us=excluded.created_us, owner=excluded.owner, priority=excluded.priority,"
      " spent_ms=excluded.spent_ms, changed_us=excluded.changed_us, progress=excluded.progress,"
      " base=excluded.base, crashes=excluded.crashes"));
  put.Bind(job.id).Bind(std::string_view(job.label)).Bind(std::string_view(job.target));
  put.Bind(std::string_view(job.options)).Bind(static_cast<int64_t>(job.state));
  put.Bind(job.trials).Bind(job.watermark).Bind(std::string_view(job.detail));
  put.Bind(job.created_us).Bind(std::string_view(job.owner)).Bind(int64_t{job.priority});
  put.Bind(job.spent_ms).Bind(job.changed_us).Bind(std::string_view(job.progress));
  put.Bind(job.base).Bind(int64_t{job.crashes});
  MLC_TRY(put.Run());
  Statement& clear = *MLC_TRY(database.Cached("DELETE FROM job_task WHERE job=?"));
  clear.Bind(job.id);
  MLC_TRY(clear.Run());
  Statement& add = *MLC_TRY(database.Cached(
      "INSERT INTO job_task(job, ordinal, workload, occurrences, label) VALUES(?,?,?,?,?)"));
  int64_t ordinal = 0;
  for (const JobTask& task : job.tasks) {
    const int64_t workload = MLC_TRY(RequireWorkload(database, task.workload));
    add.Bind(job.id).Bind(ordinal++).Bind(workload).Bind(int64_t{task.occurrences});
    add.Bind(std::string_view(task.label));
    MLC_TRY(add.Run());
  }
  return Status();
}

Status ReplaceAdminHold(Database& database, const AdminHold& hold) {
  Statement& clear = *MLC_TRY(database.Cached("DELETE FROM admin_hold WHERE worker=?"));
  clear.Bind(std::string_view(hold.worker));
  MLC_TRY(clear.Run());
  if (hold.quarantine.empty() && hold.drain.empty()) return Status();
  Statement& put = *MLC_TRY(
      database.Cached("INSERT INTO admin_hold(worker, quarantine, drain, incarnation, changed_us)"
                      " VALUES(?,?,?,?,?)"));
  put.Bind(std::string_view(hold.worker)).Bind(std::string_view(hold.quarantine));
  put.Bind(std::string_view(hold.drain))
      .Bind(std::string_view(hold.incarnation))
      .Bind(hold.changed_us);
  return put.Run();
}

Status InsertModel(Database& database, const ModelRow& model) {
  const Digest digest = mlc::DigestOf(std::string_view(model.bytes));
  Statement& find = *MLC_TRY(
      database.Cached("SELECT digest FROM model_blob WHERE family=? AND target=? AND features=?"
                      " ORDER BY id DESC LIMIT 1"));
  find.Bind(std::string_view(model.family)).Bind(std::string_view(model.target));
  find.Bind(model.features);
  const bool is_known = MLC_TRY(find.Step()) && find.DigestAt(0) == digest;
  find.Reset();
  if (is_known) return Status();
  Statement& put = *MLC_TRY(
      database.Cached("INSERT INTO model_blob(family, target, features, bytes, created_us, digest)"
                      " VALUES(?,?,?,?,?,?)"));
  put.Bind(std::string_view(model.family)).Bind(std::string_view(model.target));
  put.Bind(model.features).BindBlob(model.bytes).Bind(model.created_us).Bind(digest);
  return put.Run();
}

Status DeleteModels(Database& database, std::span<const int64_t> pinned) {
  Statement& find = *MLC_TRY(database.Cached(
      "SELECT max(id) FROM model_blob WHERE id<=? GROUP BY family, target, features"));
  std::string kept;
  std::set<int64_t> moments(pinned.begin(), pinned.end());
  moments.insert(INT64_MAX);
  for (int64_t moment : moments) {
    find.Bind(moment);
    while (MLC_TRY(find.Step())) kept += (kept.empty() ? "" : ",") + std::to_string(find.Int(0));
    find.Reset();
  }
  return database.Execute("DELETE FROM model_blob WHERE id NOT IN (" + kept + ")");
}

}  // namespace mlc::db
