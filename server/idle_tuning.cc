#include "server/idle_tuning.h"

#include <spdlog/spdlog.h>

#include <utility>
#include <vector>

#include "compiler/target/target.h"

namespace mlc::server {
namespace {

// Below every priority that a user may give.
constexpr int32_t kLowestPriority = -100;

Caller Self() { return {IdleTuning::kOwner, Role::kSubmit, false}; }

// The full text of the target of a worker of the class; empty if there is none in contact.
std::string TargetOfWorker(const Tuner& tuner, const std::string& target_class) {
  for (const WorkerLine& worker : tuner.ListWorkers()) {
    const bool works =
        worker.state == WorkerState::kReady || worker.state == WorkerState::kUntested;
    if (!works) continue;
    const Result<target::Target> target = target::Target::Parse(worker.target);
    if (target.ok() && target->ClassText() == target_class) return worker.target;
  }
  return "";
}

}  // namespace

IdleTuning::IdleTuning(std::string path, const db::TuningLog& log, Tuner& tuner,
                       IdleTuningOptions options, const Clock& clock,
                       std::shared_ptr<spdlog::logger> logger)
    : path_(std::move(path)),
      log_(log),
      tuner_(tuner),
      options_(options),
      clock_(clock),
      logger_(std::move(logger)),
      quiet_since_ms_(clock.SteadyMs()) {}

void IdleTuning::Look() {
  if (options_.trials == 0) return;
  const Status status = Act();
  if (!status.ok() && !has_failed_) logger_->warn("idle tuning: {}", status.message());
  has_failed_ = !status.ok();
}

Status IdleTuning::Act() {
  bool is_running = false;
  bool others = false;
  for (const JobSummary& job : MLC_TRY(tuner_.List(1))) {
    if (job.state != db::JobState::kRunning) continue;
    if (job.owner != kOwner) {
      others = others || HasWorkers(job);
      continue;
    }
    is_running = true;
    // One that an earlier server began is of its kind, too.
    if (job_.empty() && job.job != gave_way_) job_ = job.job;
  }
  if (others) return GiveWay();
  if (is_running) return Status();
  MLC_TRY(NoteEnd());
  if (clock_.SteadyMs() - quiet_since_ms_ < options_.quiet_ms) return Status();
  return BeginNext();
}

// A job whose workers are not there needs nothing.
bool IdleTuning::HasWorkers(const JobSummary& job) const {
  const Result<target::Target> target = target::Target::Parse(job.target);
  return target.ok() && !TargetOfWorker(tuner_, target->ClassText()).empty();
}

// One that people cancelled is finished as well.
Status IdleTuning::NoteEnd() {
  gave_way_.clear();
  if (job_.empty()) return Status();
  const std::string job = std::exchange(job_, "");
  if (!current_) return Status();
  finished_.insert(current_->key());
  current_.reset();
  const JobProgress progress = MLC_TRY(tuner_.Progress(job));
  logger_->info("idle tuning: job={} {} after {} trials", job, db::ToText(progress.state),
                progress.trials);
  return Status();
}

Status IdleTuning::GiveWay() {
  quiet_since_ms_ = clock_.SteadyMs();
  if (job_.empty()) return Status();
  gave_way_ = std::exchange(job_, "");
  logger_->info("idle tuning: job={} gives way", gave_way_);
  return tuner_.Cancel(gave_way_, Self());
}

Status IdleTuning::BeginNext() {
  // What gave way goes on, though it has records by now.
  if (!current_) current_ = MLC_TRY(Next());
  const std::string target = current_ ? TargetOfWorker(tuner_, current_->target) : "";
  if (target.empty()) {
    // The list is a file: it is not read a few times a second without need.
    quiet_since_ms_ = clock_.SteadyMs();
    current_.reset();
    return Status();
  }
  Submission job;
  job.tasks = {{current_->text, 1, current_->summary, {}}};
  job.target = target;
  job.options.trials = options_.trials;
  job.options.priority = kLowestPriority;
  job.label = "untuned " + current_->summary;
  const Result<Submitted> submitted = tuner_.Submit(job, Self());
  if (!submitted.ok()) {
    // It would be refused again; a full quota or disk may not be for long.
    const bool is_its_fault = submitted.status().code() == StatusCode::kInvalidArgument ||
                              submitted.status().code() == StatusCode::kUnimplemented;
    if (is_its_fault) finished_.insert(current_->key());
    quiet_since_ms_ = clock_.SteadyMs();
    current_.reset();
    return submitted.status();
  }
  job_ = submitted->job;
  logger_->info("idle tuning: job={} for {} builds", job_, current_->builds);
  return Status();
}

Result<std::optional<db::UntunedWorkload>> IdleTuning::Next() {
  std::vector<db::UntunedWorkload> tuned;
  std::optional<db::UntunedWorkload> next;
  for (db::UntunedWorkload& entry : MLC_TRY(db::ReadUntuned(path_))) {
    const auto key = entry.key();
    if (!MLC_TRY(log_.Best(key.first, entry.target, 1)).empty()) {
      tuned.push_back(std::move(entry));
    } else if (!next && !finished_.contains(key) && !TargetOfWorker(tuner_, entry.target).empty()) {
      next = std::move(entry);
    }
  }
  MLC_TRY(db::ForgetUntuned(path_, tuned));
  return next;
}

}  // namespace mlc::server
