#include "db/sqlite/sqlite_reads.h"

#include <algorithm>
#include <utility>

#include "db/sqlite/record_rows.h"
#include "db/sqlite/schema.h"

namespace mlc::db {
namespace {

// A file that never changes is cached for good, not for one call alone: 16 MiB at most. Mapping it
// would do as well, and end the process where another process shortens the file.
constexpr char kCached[] = "PRAGMA cache_size=-16384";

}  // namespace

// Takes an idle connection or opens one; gives it back at the end of the call.
class SqliteReads::Lease {
 public:
  static Result<Lease> Take(const SqliteReads& owner) {
    {
      std::lock_guard lock(owner.mutex_);
      if (!owner.idle_.empty()) {
        std::unique_ptr<Database> database = std::move(owner.idle_.back());
        owner.idle_.pop_back();
        return Lease(&owner, std::move(database));
      }
    }
    auto database =
        std::make_unique<Database>(MLC_TRY(Database::Open(owner.path_, OpenMode::kReadOnly)));
    MLC_TRY(CheckSchema(*database, owner.path_));
    if (IsPublished(owner.path_)) MLC_TRY(database->Execute(kCached));
    return Lease(&owner, std::move(database));
  }
  Lease(Lease&&) = default;
  ~Lease() {
    if (database_ == nullptr) return;
    std::lock_guard lock(owner_->mutex_);
    owner_->idle_.push_back(std::move(database_));
  }
  Database& operator*() const { return *database_; }

 private:
  Lease(const SqliteReads* owner, std::unique_ptr<Database> database)
      : owner_(owner), database_(std::move(database)) {}
  const SqliteReads* owner_;
  std::unique_ptr<Database> database_;
};

namespace {

// A statement that its connection keeps, for one call: left under way, it would hold the log as it
// was, and keep checkpoints from ending.
class Kept {
 public:
  explicit Kept(Statement* statement) : statement_(statement) {}
  Kept(Kept&& other) noexcept : statement_(std::exchange(other.statement_, nullptr)) {}
  ~Kept() {
    if (statement_ != nullptr) statement_->Reset();
  }
  Statement& operator*() const { return *statement_; }

 private:
  Statement* statement_;
};

// By its name: left to itself, SQLite may take the index of all records of the workload and walk
// through them, since both indexes begin with the same columns. The arm stands in the text, or this
// one would not serve.
std::string SelectConfirmations() {
  const std::string table = "FROM record r";
  std::string sql = kSelectRecord;
  sql.insert(sql.find(table) + table.size(), " INDEXED BY record_confirmed");
  return sql +
         " WHERE r.workload=(SELECT id FROM workload WHERE key=?)"
         " AND r.target=(SELECT id FROM target WHERE class=?)"
         " AND r.outcome=0 AND r.arm='" +
         std::string(kConfirmationArm) + "' ORDER BY r.created_us DESC, r.task_uid DESC LIMIT ?";
}

const std::string kSelectJob =
    "SELECT id, label, target, options, state, trials, watermark, detail, created_us, owner,"
    " priority, spent_ms, changed_us, progress, base, crashes FROM job";

JobRow JobFrom(const Statement& row) {
  JobRow job;
  job.id = row.DigestAt(0);
  job.label = row.Text(1);
  job.target = row.Text(2);
  job.options = row.Text(3);
  job.state = static_cast<JobState>(row.Int(4));
  job.trials = row.Int(5);
  job.watermark = row.Int(6);
  job.detail = row.Text(7);
  job.created_us = row.Int(8);
  job.owner = row.Text(9);
  job.priority = static_cast<int32_t>(row.Int(10));
  job.spent_ms = row.Int(11);
  job.changed_us = row.Int(12);
  job.progress = row.Text(13);
  job.base = row.DigestAt(14);
  job.crashes = static_cast<int32_t>(row.Int(15));
  return job;
}

Status ReadTasks(Database& database, JobRow& job) {
  Statement tasks = MLC_TRY(database.Prepare(
      "SELECT w.key, j.occurrences, j.label FROM job_task j JOIN workload w ON w.id=j.workload"
      " WHERE j.job=? ORDER BY j.ordinal"));
  tasks.Bind(job.id);
  while (MLC_TRY(tasks.Step())) {
    job.tasks.push_back({tasks.DigestAt(0), static_cast<int32_t>(tasks.Int(1)), tasks.Text(2)});
  }
  return Status();
}

}  // namespace

SqliteReads::~SqliteReads() = default;

Status SqliteReads::Probe() const { return Lease::Take(*this).status(); }

Result<std::vector<Record>> SqliteReads::Best(const Digest& workload, const std::string& target,
                                              int limit, const TuningLog::Accept& accept) const {
  Lease lease = MLC_TRY(Lease::Take(*this));
  static const std::string kSql =
      kSelectRecord +
      " WHERE r.workload=(SELECT id FROM workload WHERE key=?)"
      " AND r.target=(SELECT id FROM target WHERE class=?) AND r.outcome=0"
      " ORDER BY r.median_ns, r.task_uid LIMIT ?";
  const Kept kept(MLC_TRY((*lease).Cached(kSql)));
  Statement& query = *kept;
  query.Bind(workload).Bind(std::string_view(target)).Bind(kMostRanked);
  std::vector<Record> best;
  while (static_cast<int>(best.size()) < limit && MLC_TRY(query.Step())) {
    Record record = RecordFrom(query);
    MLC_TRY(CheckDigest(query, record));
    if (!accept || accept(record)) best.push_back(std::move(record));
  }
  return best;
}

Result<std::vector<Record>> SqliteReads::Confirmations(const Digest& workload,
                                                       const std::string& target) const {
  Lease lease = MLC_TRY(Lease::Take(*this));
  static const std::string kSql = SelectConfirmations();
  const Kept kept(MLC_TRY((*lease).Cached(kSql)));
  Statement& query = *kept;
  query.Bind(workload).Bind(std::string_view(target)).Bind(kMostConfirmations);
  std::vector<Record> records;
  while (MLC_TRY(query.Step())) {
    records.push_back(RecordFrom(query));
    MLC_TRY(CheckDigest(query, records.back()));
  }
  std::sort(records.begin(), records.end(),
            [](const Record& a, const Record& b) { return a.id < b.id; });
  return records;
}

Result<std::optional<Record>> SqliteReads::Find(const Digest& task_uid) const {
  Lease lease = MLC_TRY(Lease::Take(*this));
  static const std::string kSql = kSelectRecord + " WHERE r.task_uid=?";
  const Kept kept(MLC_TRY((*lease).Cached(kSql)));
  Statement& query = *kept;
  query.Bind(task_uid);
  if (!MLC_TRY(query.Step())) return std::optional<Record>();
  Record record = RecordFrom(query);
  MLC_TRY(CheckDigest(query, record));
  return std::optional<Record>(std::move(record));
}

Result<std::vector<Record>> SqliteReads::List(const RecordQuery& query) const {
  Lease lease = MLC_TRY(Lease::Take(*this));
  std::string sql = kSelectRecord + " WHERE r.id>? AND r.id<=?";
  if (query.workload) sql += " AND r.workload=(SELECT id FROM workload WHERE key=?)";
  if (query.target) sql += " AND r.target=(SELECT id FROM target WHERE class=?)";
  if (query.job_id) sql += " AND r.job_id=?";
  if (query.outcome) sql += " AND r.outcome=?";
  sql += query.newest ? " ORDER BY r.id DESC LIMIT ?" : " ORDER BY r.id LIMIT ?";
  Statement rows = MLC_TRY((*lease).Prepare(sql));
  rows.Bind(query.after_id).Bind(query.up_to_id);
  if (query.workload) rows.Bind(*query.workload);
  if (query.target) rows.Bind(std::string_view(*query.target));
  if (query.job_id) rows.Bind(*query.job_id);
  if (query.outcome) rows.Bind(static_cast<int64_t>(*query.outcome));
  rows.Bind(query.limit);
  std::vector<Record> records;
  while (MLC_TRY(rows.Step())) {
    records.push_back(RecordFrom(rows));
    MLC_TRY(CheckDigest(rows, records.back()));
  }
  if (query.newest) std::reverse(records.begin(), records.end());
  return records;
}

Result<std::optional<WorkloadRow>> SqliteReads::FindWorkload(const Digest& key) const {
  Lease lease = MLC_TRY(Lease::Take(*this));
  const Kept kept(
      MLC_TRY((*lease).Cached("SELECT key, text, summary, id FROM workload WHERE key=?")));
  Statement& query = *kept;
  query.Bind(key);
  if (!MLC_TRY(query.Step())) return std::optional<WorkloadRow>();
  return std::optional<WorkloadRow>(
      {query.DigestAt(0), query.Text(1), query.Text(2), query.Int(3)});
}

Result<std::vector<WorkloadRow>> SqliteReads::Workloads(int64_t after_id, int64_t limit) const {
  Lease lease = MLC_TRY(Lease::Take(*this));
  Statement query = MLC_TRY((*lease).Prepare(
      "SELECT key, text, summary, id FROM workload WHERE id>? ORDER BY id LIMIT ?"));
  query.Bind(after_id).Bind(limit);
  std::vector<WorkloadRow> workloads;
  while (MLC_TRY(query.Step())) {
    workloads.push_back({query.DigestAt(0), query.Text(1), query.Text(2), query.Int(3)});
  }
  return workloads;
}

Result<std::vector<std::string>> SqliteReads::Targets() const {
  Lease lease = MLC_TRY(Lease::Take(*this));
  Statement query = MLC_TRY((*lease).Prepare("SELECT class FROM target ORDER BY id"));
  std::vector<std::string> targets;
  while (MLC_TRY(query.Step())) targets.push_back(query.Text(0));
  return targets;
}

Result<std::optional<JobRow>> SqliteReads::FindJob(const Digest& id) const {
  Lease lease = MLC_TRY(Lease::Take(*this));
  Statement query = MLC_TRY((*lease).Prepare(kSelectJob + " WHERE id=?"));
  query.Bind(id);
  if (!MLC_TRY(query.Step())) return std::optional<JobRow>();
  JobRow job = JobFrom(query);
  MLC_TRY(ReadTasks(*lease, job));
  return std::optional<JobRow>(std::move(job));
}

Result<std::vector<JobRow>> SqliteReads::Jobs(const JobQuery& asked) const {
  Lease lease = MLC_TRY(Lease::Take(*this));
  std::string sql = kSelectJob;
  if (asked.state) sql += " WHERE state=?";
  if (asked.base) sql += asked.state ? " AND base=?" : " WHERE base=?";
  // Both directions as the indexes have them, or SQLite sorts.
  sql += " ORDER BY created_us DESC, id DESC LIMIT ?";
  Statement query = MLC_TRY((*lease).Prepare(sql));
  if (asked.state) query.Bind(static_cast<int64_t>(*asked.state));
  if (asked.base) query.Bind(*asked.base);
  query.Bind(asked.limit);
  std::vector<JobRow> jobs;
  while (MLC_TRY(query.Step())) jobs.push_back(JobFrom(query));
  for (JobRow& job : jobs) {
    if (asked.with_tasks) MLC_TRY(ReadTasks(*lease, job));
  }
  return jobs;
}

Result<std::vector<ModelRow>> SqliteReads::Models(const std::string& target,
                                                  int64_t up_to_id) const {
  Lease lease = MLC_TRY(Lease::Take(*this));
  Statement query = MLC_TRY((*lease).Prepare(
      "SELECT family, target, features, bytes, created_us, digest, rowid FROM model_blob"
      " WHERE rowid IN (SELECT max(rowid) FROM model_blob WHERE target=? AND rowid<=?"
      " GROUP BY family, features) ORDER BY family, features"));
  query.Bind(std::string_view(target)).Bind(up_to_id);
  std::vector<ModelRow> models;
  while (MLC_TRY(query.Step())) {
    models.push_back({query.Text(0), query.Text(1), query.DigestAt(2), query.Blob(3), query.Int(4),
                      query.Int(6)});
    if (mlc::DigestOf(std::string_view(models.back().bytes)) != query.DigestAt(5)) {
      return DataLoss("the saved cost model of " + models.back().family + " is damaged");
    }
  }
  return models;
}

Result<std::vector<AdminHold>> SqliteReads::AdminHolds() const {
  Lease lease = MLC_TRY(Lease::Take(*this));
  std::vector<AdminHold> holds;
  Statement query = MLC_TRY((*lease).Prepare(
      "SELECT worker, quarantine, drain, incarnation, changed_us FROM admin_hold ORDER BY worker"));
  while (MLC_TRY(query.Step())) {
    holds.push_back({query.Text(0), query.Text(1), query.Text(2), query.Text(3), query.Int(4)});
  }
  return holds;
}

Result<LogMoment> SqliteReads::Now() const {
  Lease lease = MLC_TRY(Lease::Take(*this));
  LogMoment moment;
  moment.last_id = MLC_TRY((*lease).Integer("SELECT coalesce(max(id), 0) FROM record"));
  moment.last_model_id =
      MLC_TRY((*lease).Integer("SELECT coalesce(max(rowid), 0) FROM model_blob"));
  moment.last_workload_id = MLC_TRY((*lease).Integer("SELECT coalesce(max(id), 0) FROM workload"));
  return moment;
}

Result<LogStats> SqliteReads::Stats() const {
  Lease lease = MLC_TRY(Lease::Take(*this));
  LogStats stats;
  stats.workloads = MLC_TRY((*lease).Integer("SELECT count(*) FROM workload"));
  stats.jobs = MLC_TRY((*lease).Integer("SELECT count(*) FROM job"));
  stats.models = MLC_TRY((*lease).Integer(
      "SELECT count(*) FROM (SELECT DISTINCT family, target, features FROM model_blob)"));
  stats.last_model_id = MLC_TRY((*lease).Integer("SELECT coalesce(max(rowid), 0) FROM model_blob"));
  stats.last_id = MLC_TRY((*lease).Integer("SELECT coalesce(max(id), 0) FROM record"));
  stats.schema_version = static_cast<int>(MLC_TRY((*lease).Integer("PRAGMA user_version")));
  Statement query =
      MLC_TRY((*lease).Prepare("SELECT outcome, count(*) FROM record GROUP BY outcome"));
  while (MLC_TRY(query.Step())) {
    stats.by_outcome[static_cast<size_t>(OutcomeAt(query, 0))] += query.Int(1);
    stats.records += query.Int(1);
  }
  return stats;
}

}  // namespace mlc::db
