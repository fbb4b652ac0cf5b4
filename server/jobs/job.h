// One run of a job: keeps batches of the search in flight, collects results in any order, and
// passes them to the search in the order of proposal. Pure: no clock, no I/O; not thread-safe. The
// uid of a trial depends only on its job, workload, target class, config and repeat. A restarted
// job therefore finds its earlier trials in the log by uid, and repeats the same search.
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

// Increase it when the meaning of a measurement changes, so that all trials get new uids.
inline constexpr int kMeasurementProtocol = 1;

Digest TaskUid(const Digest& job_id, const Digest& workload, const std::string& target_class,
               const Proposal& proposal);

// The seed of the trial's random inputs. Trials of one interleaved group have the same seed.
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
    // Of the first ones, 0: as the others. A search of one task that knows nothing chooses better
    // after a few results: batches grow with what it has learned.
    int first_batch = 0;
    int in_flight = 2;  // batches: workers measure one while the search computes the next
  };

  JobRun(Plan plan, std::unique_ptr<Strategy> strategy);

  // Passes complete batches at the front to the search and requests the next proposals, so that the
  // planned number of batches stays in flight until the budget is spent. Returns the new trials;
  // answer each with one Record. It may compute for long. Call it again after Records until it
  // returns no trials.
  std::vector<Trial> Advance();
  // Records the result of a trial. False if the trial is not in flight or already has a result.
  bool Record(const Digest& uid, const Measurement& measurement, bool replayed);
  // Removes a trial in flight that no worker can run.
  void Drop(const Digest& uid);
  // Ends the proposals. The search still learns the batches in flight when their trials are
  // recorded.
  void Stop() { stopped_ = true; }
  // True if no trial is in flight and none will be proposed.
  bool Finished() const;
  // Why the search ended before its budget was spent; empty if it did not.
  std::string WhyEarly() const;

  int64_t learned() const { return learned_; }
  // Trials of the budget that have a result. A trial that no worker could run leaves this count,
  // but stays among the outcomes.
  int64_t recorded() const { return recorded_; }
  int64_t replayed() const { return replayed_; }
  const std::array<int64_t, 8>& outcomes() const { return outcomes_; }
  // For each task, the number of its trials in flight without a result.
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
  int64_t NextBatch() const;
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
  bool dry_ = false;  // the search proposes nothing until it learns more
};

}  // namespace mlc::server
