#include "server/api/job_messages.h"

#include <string>
#include <utility>

#include "base/wire/protocol.h"

namespace mlc::server {
namespace {

// Of the log and of the wire, with the same numbers.
static_assert(static_cast<int>(db::JobState::kRunning) == proto::RUNNING);
static_assert(static_cast<int>(db::JobState::kDone) == proto::DONE);
static_assert(static_cast<int>(db::JobState::kCancelled) == proto::CANCELLED);
static_assert(static_cast<int>(db::JobState::kFailed) == proto::FAILED);

template <typename Texts>
std::vector<std::string> TakeTexts(Texts* wire) {
  return {std::make_move_iterator(wire->begin()), std::make_move_iterator(wire->end())};
}

SubmittedOptions FromWire(const proto::JobOptions& wire) {
  SubmittedOptions options;
  options.trials = wire.trials();
  options.seed = wire.seed();
  options.fresh = wire.fresh();
  options.time_budget_ms = wire.time_budget_ms();
  options.batch = wire.batch();
  options.priority = wire.priority();
  options.reproducible = wire.reproducible();
  return options;
}

void Write(const SubmittedOptions& options, proto::JobOptions& wire) {
  wire.set_trials(options.trials);
  wire.set_seed(options.seed);
  wire.set_fresh(options.fresh);
  wire.set_time_budget_ms(options.time_budget_ms);
  wire.set_batch(options.batch);
  wire.set_priority(options.priority);
  wire.set_reproducible(options.reproducible);
}

void Write(JobSummary&& summary, proto::JobSummary& wire) {
  wire.set_job(std::move(summary.job));
  wire.set_label(std::move(summary.label));
  wire.set_state(static_cast<proto::JobState>(summary.state));
  wire.set_trials(summary.trials);
  wire.set_target(std::move(summary.target));
  wire.set_created_us(summary.created_us);
  wire.set_owner(std::move(summary.owner));
  wire.set_priority(summary.priority);
  wire.set_trials_wanted(summary.trials_wanted);
  wire.set_detail(std::move(summary.detail));
  wire.set_changed_us(summary.changed_us);
}

void Write(TaskFigures&& task, proto::TaskProgress& wire) {
  wire.set_trials(task.trials);
  wire.set_best_ns(task.best_ns);
  wire.set_default_ns(task.default_ns);
  wire.set_best_config(std::move(task.best_config));
  wire.set_done(task.done);
  wire.set_prior_config(std::move(task.prior_config));
  wire.set_estimate_ns(task.estimate_ns);
  wire.set_under_way(task.under_way);
}

// One without a config has no record: nothing of it is sent.
void Write(MeasuredConfig&& config, proto::BestConfig& wire) {
  if (config.config.empty()) return;
  wire.set_config(std::move(config.config));
  *wire.mutable_measurement() = ToWire(config.measurement);
  wire.set_record(ToWire(config.record));
}

void Write(BestConfig&& best, proto::BestConfig& wire) {
  Write(std::move(best.best), wire);
  for (MeasuredConfig& other : best.others) Write(std::move(other), *wire.add_others());
  for (const int32_t place : best.similar) wire.add_similar_workloads(place);
}

void Write(SimilarConfigs&& similar, proto::SimilarWorkload& wire) {
  wire.set_workload(std::move(similar.workload));
  wire.set_default_ns(similar.default_ns);
  for (MeasuredConfig& best : similar.best) {
    proto::BestConfig& config = *wire.add_best();
    config.set_config(std::move(best.config));
    config.mutable_measurement()->set_outcome(
        static_cast<proto::Outcome>(best.measurement.outcome));
    config.mutable_measurement()->set_median_ns(best.measurement.median_ns);
    config.set_record(ToWire(best.record));
  }
}

}  // namespace

Submission FromWire(proto::SubmitJobRequest&& wire) {
  Submission submission;
  submission.bytes = static_cast<int64_t>(wire.ByteSizeLong());
  submission.tasks.reserve(static_cast<size_t>(wire.tasks_size()));
  for (proto::Task& task : *wire.mutable_tasks()) {
    submission.tasks.push_back({std::move(*task.mutable_workload()),
                                task.occurrences(),
                                std::move(*task.mutable_label()),
                                {task.uses().begin(), task.uses().end()}});
  }
  submission.target = std::move(*wire.mutable_target());
  submission.options = FromWire(wire.options());
  submission.label = std::move(*wire.mutable_label());
  submission.user = std::move(*wire.mutable_user());
  for (proto::Variant& variant : *wire.mutable_variants()) {
    submission.variants.push_back(std::move(*variant.mutable_name()));
  }
  return submission;
}

KernelSubmission FromWire(proto::SubmitUserKernelRequest&& wire) {
  const auto bytes = static_cast<int64_t>(wire.ByteSizeLong());
  proto::UserKernel& kernel = *wire.mutable_kernel();
  KernelSubmission submission;
  submission.job = FromWire(std::move(*wire.mutable_job()));
  submission.job.bytes = bytes;
  submission.kernel = {std::move(*kernel.mutable_entry()),
                       std::move(*kernel.mutable_source()),
                       {kernel.blocks(), kernel.blocks_y(), kernel.blocks_z()},
                       {kernel.threads(), kernel.threads_y(), kernel.threads_z()},
                       kernel.block_bytes()};
  submission.specification = std::move(*wire.mutable_specification());
  return submission;
}

BestQuestion FromWire(proto::BestRequest&& wire) {
  BestQuestion question;
  question.workloads = TakeTexts(wire.mutable_workloads());
  question.target = std::move(*wire.mutable_target());
  question.candidates = wire.candidates();
  question.kernels = TakeTexts(wire.mutable_kernels());
  question.texts = TakeTexts(wire.mutable_texts());
  return question;
}

proto::SubmitJobReply ToWire(Submitted&& submitted) {
  proto::SubmitJobReply wire;
  wire.set_job(std::move(submitted.job));
  wire.set_resumed(submitted.resumed);
  wire.set_joined(submitted.joined);
  return wire;
}

proto::JobProgress ToWire(JobProgress&& progress) {
  proto::JobProgress wire;
  wire.set_state(static_cast<proto::JobState>(progress.state));
  wire.set_detail(std::move(progress.detail));
  wire.set_trials(progress.trials);
  wire.set_trials_wanted(progress.trials_wanted);
  wire.set_replayed(progress.replayed);
  for (TaskFigures& task : progress.tasks) Write(std::move(task), *wire.add_tasks());
  for (const int64_t count : progress.outcomes) wire.add_outcomes(count);
  wire.set_workers(progress.workers);
  wire.set_elapsed_s(progress.elapsed_s);
  wire.set_target(std::move(progress.target));
  wire.set_gpu_busy(progress.gpu_busy);
  wire.set_budget_left_s(progress.budget_left_s);
  return wire;
}

proto::JobDescription ToWire(JobDescription&& description) {
  proto::JobDescription wire;
  Write(std::move(description.summary), *wire.mutable_summary());
  Write(description.options, *wire.mutable_options());
  for (SubmittedTask& submitted : description.tasks) {
    proto::Task& task = *wire.add_tasks();
    task.set_workload(std::move(submitted.workload));
    task.set_occurrences(submitted.occurrences);
    task.set_label(std::move(submitted.label));
    for (const int32_t uses : submitted.uses) task.add_uses(uses);
  }
  for (std::string& name : description.variants) wire.add_variants()->set_name(std::move(name));
  return wire;
}

proto::ListJobsReply ToWire(std::vector<JobSummary>&& jobs) {
  proto::ListJobsReply wire;
  for (JobSummary& job : jobs) Write(std::move(job), *wire.add_jobs());
  return wire;
}

proto::BestReply ToWire(BestAnswer&& answer) {
  proto::BestReply wire;
  for (BestConfig& best : answer.best) Write(std::move(best), *wire.add_best());
  for (SimilarConfigs& similar : answer.similar) {
    Write(std::move(similar), *wire.add_similar_workloads());
  }
  for (std::string& target : answer.targets) wire.add_targets(std::move(target));
  return wire;
}

}  // namespace mlc::server
