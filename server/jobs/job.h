// One job's run: keeps batches of the search in flight, gathers their results in whatever order
// they come, and teaches the search in the order of proposal. Pure: no clock, no I/O; not
// thread-safe. Because a trial's uid depends on its job, workload, class of target, config and
// repeat alone, a job that starts again finds its earlier trials in the log by uid and goes the
// same way.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "base/digest.h"
#include "base/measurement.h"
#include "server/search/strategy.h"

namespace mlc::server {

// Raised when the meaning of a measurement changes: other trials, other uids.
inline constexpr int kMeasurementProtocol = 1;

Digest TaskUid(const Digest& job_id, const Digest& workload, const std::string& target_class,
               const Proposal& proposal);

// Of the trial's random inputs. Trials that are to be measured side by side have the same one.
uint64_t SeedOf(const Digest& uid, const Digest& job_id, const Digest& workload,
                const Proposal& proposal);

struct Trial {
  Digest uid;
  Proposal proposal;
};

class JobRun {
 public:
  struct Plan {
    Digest job_id;
    std::vector<Digest> workloads;  // one per task
    std::string target_class;
    int64_t trials = 0;
    int batch = 16;
    int in_flight = 2;  // batches: workers measure one while the search computes the next
  };

  JobRun(Plan plan, std::unique_ptr<Strategy> strategy);

  // Learns the whole batches at the front, each followed by the next proposal, so that as many as
  // planned are in flight until the budget is proposed. Returns the new trials, each to be answered
  // by one Record. May compute for long; call again after Records until it returns nothing.
  std::vector<Trial> Advance();
  // False if the trial is not in flight or has its result.
  bool Record(const Digest& uid, const Measurement& measurement, bool replayed);
  // Forgets a trial in flight that no worker will run.
  void Drop(const Digest& uid);
  // No more proposals. Batches in flight are learned when their trials are recorded.
  void Stop() { stopped_ = true; }
  // Nothing is in flight and nothing will be proposed any more.
  bool Finished() const;
  // Why the search ended by itself before its budget was spent; empty if it did not.
  std::string WhyEarly() const;

  int64_t learned() const { return learned_; }
  // Of the budget; those that no worker could make leave it, but not the outcomes.
  int64_t recorded() const { return recorded_; }
  int64_t replayed() const { return replayed_; }
  const std::array<int64_t, 8>& outcomes() const { return outcomes_; }
  // For each task, its trials in flight that have no result yet.
  std::vector<int> UnderWay() const;
  const Plan& plan() const { return plan_; }
  const Strategy& strategy() const { return *strategy_; }

 private:
  struct Slot {
    Trial trial;
    std::optional<Measurement> measurement;
  };
  using Batch = std::vector<Slot>;

  void Fill(std::vector<Trial>& trials);
  Batch Fresh(std::vector<Proposal> proposals);
  int64_t Refund(const Batch& batch);
  void LearnFront();
  static bool Whole(const Batch& batch);

  Plan plan_;
  std::unique_ptr<Strategy> strategy_;
  std::deque<Batch> in_flight_;
  std::set<Digest> proposed_uids_;
  int64_t proposed_ = 0;
  int64_t learned_ = 0;
  int64_t recorded_ = 0;
  int64_t replayed_ = 0;
  int64_t lost_in_a_row_ = 0;
  std::array<int64_t, 8> outcomes_{};
  bool stopped_ = false;
  bool exhausted_ = false;
  bool dry_ = false;  // the search had nothing to propose before it learns more
};

}  // namespace mlc::server
