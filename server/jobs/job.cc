#include "server/jobs/job.h"

#include <algorithm>
#include <string>
#include <utility>

namespace mlc::server {
namespace {

// A batch of so many results more has one trial more.
constexpr int64_t kResultsPerTrial = 8;

}  // namespace

Digest TaskUid(const Digest& job_id, const Digest& workload, const std::string& target_class,
               const Proposal& proposal) {
  std::string text = "trial v1 protocol=" + std::to_string(kMeasurementProtocol) + "\n";
  text += job_id.ToText() + "\n" + workload.ToText() + "\n" + target_class + "\n";
  text += proposal.config.ToText() + "\nrepeat=" + std::to_string(proposal.repeat) + "\n";
  return DigestOf(std::string_view(text));
}

uint64_t SeedOf(const Digest& uid, const Digest& job_id, const Digest& workload,
                const Proposal& proposal) {
  if (proposal.group == 0) return uid.low;
  return DigestOf("turn " + std::to_string(proposal.group) + "\n" + job_id.ToText() + "\n" +
                  workload.ToText() + "\n")
      .low;
}

JobRun::JobRun(Plan plan, std::unique_ptr<Strategy> strategy)
    : plan_(std::move(plan)), strategy_(std::move(strategy)) {}

std::vector<Trial> JobRun::Advance() {
  std::vector<Trial> trials;
  Fill(trials);
  // One batch learned, one proposed: results that come together go the way of results that come
  // one by one.
  while (!in_flight_.empty() && Whole(in_flight_.front())) {
    LearnFront();
    Fill(trials);
  }
  return trials;
}

// Asks the search again only after it has learned something: how often a job is looked at must not
// change its course.
void JobRun::Fill(std::vector<Trial>& trials) {
  while (!stopped_ && !exhausted_ && !dry_ && std::ssize(in_flight_) < plan_.in_flight &&
         proposed_ < plan_.trials) {
    const int count = static_cast<int>(std::min(NextBatch(), plan_.trials - proposed_));
    Batch batch;
    if (!strategy_->Done()) batch = Fresh(strategy_->Propose(count));
    if (batch.empty()) {
      dry_ = true;
      exhausted_ = in_flight_.empty();
      return;
    }
    for (const Slot& slot : batch) trials.push_back(slot.trial);
    proposed_ += static_cast<int64_t>(batch.size());
    in_flight_.push_back(std::move(batch));
  }
}

// Depends on what was learned alone, so that a restarted job repeats it.
int64_t JobRun::NextBatch() const {
  const int64_t first = plan_.first_batch > 0 ? plan_.first_batch : plan_.batch;
  return std::min<int64_t>(std::max(first, learned_ / kResultsPerTrial), plan_.batch);
}

// A trial proposed twice would wait for a second result for ever.
JobRun::Batch JobRun::Fresh(std::vector<Proposal> proposals) {
  Batch batch;
  for (Proposal& proposal : proposals) {
    const Digest& workload = plan_.workloads[static_cast<size_t>(proposal.task)];
    const Digest uid = TaskUid(plan_.job_id, workload, plan_.target_class, proposal);
    if (!proposed_uids_.insert(uid).second) continue;
    batch.push_back({Trial{uid, std::move(proposal)}, std::nullopt});
  }
  return batch;
}

bool JobRun::Record(const Digest& uid, const Measurement& measurement, bool replayed) {
  for (Batch& batch : in_flight_) {
    for (Slot& slot : batch) {
      if (slot.trial.uid != uid || slot.measurement) continue;
      slot.measurement = measurement;
      ++recorded_;
      replayed_ += replayed ? 1 : 0;
      ++outcomes_[static_cast<size_t>(measurement.outcome) % outcomes_.size()];
      return true;
    }
  }
  return false;
}

void JobRun::Drop(const Digest& uid) {
  for (Batch& batch : in_flight_) {
    std::erase_if(batch,
                  [&](const Slot& slot) { return slot.trial.uid == uid && !slot.measurement; });
  }
}

bool JobRun::Whole(const Batch& batch) {
  return std::all_of(batch.begin(), batch.end(),
                     [](const Slot& slot) { return slot.measurement.has_value(); });
}

// Trials that no worker could make cost nothing of the budget: others take their places. Where as
// many as a batch failed so in a row, more of them would be no better.
int64_t JobRun::Refund(const Batch& batch) {
  int64_t lost = 0;
  for (const Slot& slot : batch) {
    const bool made = slot.measurement->outcome != Outcome::kInfra;
    lost += made ? 0 : 1;
    lost_in_a_row_ = made ? 0 : lost_in_a_row_ + 1;
  }
  if (lost_in_a_row_ >= std::min<int64_t>(plan_.batch, plan_.trials)) return 0;
  proposed_ -= lost;
  recorded_ -= lost;
  return lost;
}

void JobRun::LearnFront() {
  std::vector<Observation> observations;
  learned_ -= Refund(in_flight_.front());
  for (Slot& slot : in_flight_.front()) {
    observations.push_back({std::move(slot.trial.proposal), *std::move(slot.measurement)});
  }
  in_flight_.pop_front();
  dry_ = false;
  if (observations.empty()) return;
  learned_ += static_cast<int64_t>(observations.size());
  strategy_->Learn(observations);
}

std::vector<int> JobRun::UnderWay() const {
  std::vector<int> counts(plan_.workloads.size());
  for (const Batch& batch : in_flight_) {
    for (const Slot& slot : batch) {
      if (!slot.measurement) ++counts[static_cast<size_t>(slot.trial.proposal.task)];
    }
  }
  return counts;
}

std::string JobRun::WhyEarly() const {
  const bool early = !stopped_ && in_flight_.empty() && proposed_ < plan_.trials;
  if (!early || !(exhausted_ || strategy_->Done())) return "";
  return "stopped early, after " + std::to_string(recorded_) + " of " +
         std::to_string(plan_.trials) + " trials: " + strategy_->WhyDone();
}

bool JobRun::Finished() const {
  return in_flight_.empty() &&
         (stopped_ || exhausted_ || strategy_->Done() || proposed_ >= plan_.trials);
}

}  // namespace mlc::server
