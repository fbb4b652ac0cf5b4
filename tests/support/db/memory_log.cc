#include "tests/support/db/memory_log.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <tuple>

namespace mlc::db {
namespace {

class MemoryLog : public TuningLog {
 public:
  Status AddWorkload(const WorkloadRow& row) override {
    std::lock_guard lock(mutex_);
    return Insert(row);
  }

  void Append(Record record, AppendCallback done) override {
    // One order for inserting and for calling back.
    std::lock_guard order(append_order_);
    done(Insert(std::move(record)));
  }

  Status Flush() override {
    std::lock_guard order(append_order_);
    return Status();
  }

  using TuningLog::PutJob;
  Status PutJob(const JobRow& job, std::span<const WorkloadRow> workloads) override {
    std::lock_guard lock(mutex_);
    const size_t before = workloads_.size();
    Status status;
    for (const WorkloadRow& row : workloads) {
      if (status.ok()) status = Insert(row);
    }
    for (const JobTask& task : job.tasks) {
      if (status.ok()) status = RequireWorkload(task.workload);
    }
    if (status.ok()) {
      jobs_[job.id] = job;
    } else {
      for (; workloads_.size() > before; workloads_.pop_back()) {
        workload_index_.erase(workloads_.back().key);
      }
    }
    return status;
  }

  Status SaveModel(const ModelRow& model) override {
    std::lock_guard lock(mutex_);
    std::vector<ModelRow>& versions = models_[{model.target, model.family, model.features}];
    if (!versions.empty() && versions.back().bytes == model.bytes) return Status();
    versions.push_back(model);
    versions.back().id = ++last_model_id_;
    return Status();
  }

  Status PruneModels(std::span<const int64_t> pinned) override {
    std::lock_guard lock(mutex_);
    for (auto& [key, versions] : models_) {
      std::set<int64_t> kept = {versions.back().id};
      for (int64_t moment : pinned) {
        if (const ModelRow* model = AsOf(versions, moment)) kept.insert(model->id);
      }
      std::erase_if(versions, [&](const ModelRow& model) { return !kept.contains(model.id); });
    }
    return Status();
  }

  Status PutAdminHold(const AdminHold& hold) override {
    if (hold.worker.empty()) return InvalidArgument("the worker has no name");
    std::lock_guard lock(mutex_);
    admin_holds_.erase(hold.worker);
    if (!hold.quarantine.empty() || !hold.drain.empty()) admin_holds_[hold.worker] = hold;
    return Status();
  }

  Result<std::vector<Record>> Best(const Digest& workload, const std::string& target, int limit,
                                   const Accept& accept) const override {
    RecordQuery query;
    query.workload = workload;
    query.target = target;
    query.outcome = Outcome::kOk;
    std::vector<Record> records = MLC_TRY(List(query));
    std::sort(records.begin(), records.end(), [](const Record& a, const Record& b) {
      return std::tie(a.measurement.median_ns, a.task_uid) <
             std::tie(b.measurement.median_ns, b.task_uid);
    });
    std::vector<Record> best;
    int64_t ranked = 0;
    for (Record& record : records) {
      if (static_cast<int>(best.size()) == limit || ranked++ == kMostRanked) break;
      if (!accept || accept(record)) best.push_back(std::move(record));
    }
    return best;
  }

  Result<std::vector<Record>> Confirmations(const Digest& workload,
                                            const std::string& target) const override {
    RecordQuery query;
    query.workload = workload;
    query.target = target;
    query.outcome = Outcome::kOk;
    std::vector<Record> records = MLC_TRY(List(query));
    std::erase_if(records, [](const Record& record) { return !IsConfirmation(record); });
    const int64_t surplus = std::ssize(records) - kMostConfirmations;
    if (surplus <= 0) return records;
    std::sort(records.begin(), records.end(), [](const Record& a, const Record& b) {
      return std::tie(a.created_us, a.task_uid) < std::tie(b.created_us, b.task_uid);
    });
    records.erase(records.begin(), records.begin() + surplus);
    std::sort(records.begin(), records.end(),
              [](const Record& a, const Record& b) { return a.id < b.id; });
    return records;
  }

  Result<std::optional<Record>> Find(const Digest& task_uid) const override {
    std::lock_guard lock(mutex_);
    const auto found = by_uid_.find(task_uid);
    if (found == by_uid_.end()) return std::optional<Record>();
    return std::optional<Record>(records_[found->second]);
  }

  Result<std::vector<Record>> List(const RecordQuery& query) const override {
    std::lock_guard lock(mutex_);
    std::vector<Record> found;
    for (const Record& record : records_) {
      if (!query.newest && std::ssize(found) == query.limit) break;
      if (record.id <= query.after_id || record.id > query.up_to_id) continue;
      if (query.workload && record.workload != *query.workload) continue;
      if (query.target && record.target != *query.target) continue;
      if (query.job_id && record.job_id != *query.job_id) continue;
      if (query.outcome && record.measurement.outcome != *query.outcome) continue;
      found.push_back(record);
    }
    const int64_t surplus = std::max<int64_t>(0, std::ssize(found) - query.limit);
    found.erase(found.begin(), found.begin() + surplus);
    return found;
  }

  Result<std::optional<WorkloadRow>> FindWorkload(const Digest& key) const override {
    std::lock_guard lock(mutex_);
    const auto found = workload_index_.find(key);
    if (found == workload_index_.end()) return std::optional<WorkloadRow>();
    return std::optional<WorkloadRow>(workloads_[found->second]);
  }

  Result<std::vector<WorkloadRow>> Workloads(int64_t after_id, int64_t limit) const override {
    std::lock_guard lock(mutex_);
    const int64_t first = std::min<int64_t>(after_id, std::ssize(workloads_));
    const int64_t count = std::min<int64_t>(limit, std::ssize(workloads_) - first);
    return std::vector<WorkloadRow>(workloads_.begin() + first, workloads_.begin() + first + count);
  }

  Result<std::vector<std::string>> Targets() const override {
    std::lock_guard lock(mutex_);
    std::vector<std::string> targets;
    for (const Record& record : records_) {
      if (std::find(targets.begin(), targets.end(), record.target) == targets.end()) {
        targets.push_back(record.target);
      }
    }
    return targets;
  }

  Result<std::optional<JobRow>> FindJob(const Digest& id) const override {
    std::lock_guard lock(mutex_);
    const auto found = jobs_.find(id);
    if (found == jobs_.end()) return std::optional<JobRow>();
    return std::optional<JobRow>(found->second);
  }

  Result<std::vector<JobRow>> Jobs(const JobQuery& asked) const override {
    std::lock_guard lock(mutex_);
    std::vector<JobRow> jobs;
    for (const auto& [id, job] : jobs_) {
      if (asked.state && job.state != *asked.state) continue;
      if (asked.base && job.base != *asked.base) continue;
      jobs.push_back(job);
      if (!asked.with_tasks) jobs.back().tasks.clear();
    }
    std::stable_sort(jobs.begin(), jobs.end(), [](const JobRow& a, const JobRow& b) {
      return std::pair(a.created_us, a.id) > std::pair(b.created_us, b.id);
    });
    if (static_cast<int64_t>(jobs.size()) > asked.limit) {
      jobs.resize(static_cast<size_t>(asked.limit));
    }
    return jobs;
  }

  Result<std::vector<ModelRow>> Models(const std::string& target, int64_t up_to_id) const override {
    std::lock_guard lock(mutex_);
    std::vector<ModelRow> models;
    for (const auto& [key, versions] : models_) {
      const ModelRow* model = std::get<0>(key) == target ? AsOf(versions, up_to_id) : nullptr;
      if (model != nullptr) models.push_back(*model);
    }
    return models;
  }

  Result<std::vector<AdminHold>> AdminHolds() const override {
    std::lock_guard lock(mutex_);
    std::vector<AdminHold> holds;
    for (const auto& [worker, hold] : admin_holds_) holds.push_back(hold);
    return holds;
  }

  Result<LogMoment> Now() const override {
    std::lock_guard lock(mutex_);
    return LogMoment{std::ssize(records_), last_model_id_, std::ssize(workloads_)};
  }

  Result<LogStats> Stats() const override {
    std::lock_guard lock(mutex_);
    LogStats stats;
    stats.workloads = static_cast<int64_t>(workloads_.size());
    stats.records = static_cast<int64_t>(records_.size());
    stats.jobs = static_cast<int64_t>(jobs_.size());
    stats.models = static_cast<int64_t>(models_.size());
    stats.last_id = stats.records;
    stats.last_model_id = last_model_id_;
    for (const Record& record : records_) {
      ++stats.by_outcome.at(static_cast<size_t>(record.measurement.outcome));
    }
    return stats;
  }

 private:
  // Null if the first version is younger.
  static const ModelRow* AsOf(const std::vector<ModelRow>& versions, int64_t id) {
    const ModelRow* found = nullptr;
    for (const ModelRow& model : versions) found = model.id <= id ? &model : found;
    return found;
  }
  // REQUIRES mutex_.
  Status Insert(const WorkloadRow& row) {
    if (mlc::DigestOf(std::string_view(row.text)) != row.key) {
      return InvalidArgument("a workload's key must be the digest of its text");
    }
    if (workload_index_.emplace(row.key, workloads_.size()).second) {
      workloads_.push_back(row);
      workloads_.back().id = static_cast<int64_t>(workloads_.size());
    }
    return Status();
  }
  Result<Appended> Insert(Record record) {
    std::lock_guard lock(mutex_);
    MLC_TRY(Validate(record));
    MLC_TRY(RequireWorkload(record.workload));
    if (!by_uid_.emplace(record.task_uid, records_.size()).second) return Appended::kDuplicate;
    record.id = static_cast<int64_t>(records_.size()) + 1;
    records_.push_back(std::move(record));
    return Appended::kNew;
  }
  Status RequireWorkload(const Digest& key) const {
    if (workload_index_.contains(key)) return Status();
    return InvalidArgument("workload " + key.ToText() + " is not in the log");
  }

  mutable std::mutex mutex_;
  std::mutex append_order_;
  std::vector<WorkloadRow> workloads_;
  std::map<Digest, size_t> workload_index_;
  std::vector<Record> records_;
  std::map<Digest, size_t> by_uid_;
  std::map<Digest, JobRow> jobs_;
  std::map<std::string, AdminHold> admin_holds_;
  std::map<std::tuple<std::string, std::string, Digest>, std::vector<ModelRow>> models_;
  int64_t last_model_id_ = 0;
};

}  // namespace

std::unique_ptr<TuningLog> MakeMemoryLog() { return std::make_unique<MemoryLog>(); }

}  // namespace mlc::db
