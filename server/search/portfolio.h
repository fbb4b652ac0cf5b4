// The search of a whole job over abstract candidates: which task gets the next trial, and what all
// tasks learn together. Tasks without a time go first, heaviest first: each gets its prior config
// until it has a correct kernel. After that, each trial goes to the task where it is expected to
// save most time of the whole model; these tasks include those whose time is predicted from earlier
// jobs. The last trials measure the leaders again in groups. If the model has variants, a task
// counts by its uses in the variants that may still win. Deterministic; not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "server/search/task_search.h"
#include "server/search/win_probability.h"

namespace mlc::server {

struct PortfolioTask {
  struct Known {
    PointRef point;
    Ending ending;
    double ns;
    bool confirmed = false;
  };
  std::unique_ptr<CandidateSource> source;
  std::vector<double> uses = {1};  // executions in each variant of the model
  std::vector<Known> known;
  // The configs to use without a trial, best first: defaults, and configs transferred from similar
  // tasks with their expected times (0: unknown).
  struct PriorConfig {
    PointRef point;
    bool transferred = false;
    double expected_ns = 0;
  };
  std::vector<PriorConfig> prior_configs;
  // Fast points of the same workload on other devices, the most promising first.
  std::vector<PointRef> of_other_devices;
};

class Portfolio {
 public:
  struct Options {
    int64_t trials = 0;
    uint64_t seed = 0;
    SearchConstants constants = {};
  };
  struct Seen {
    Pick pick;
    Ending ending = Ending::kNotMade;
    double ns = 0;
  };
  using SavedRows = std::vector<std::pair<std::string, costmodel::Experience>>;

  // `rows`: the rows of earlier jobs, by family name. REQUIRES: all tasks have the same number of
  // uses.
  Portfolio(std::vector<PortfolioTask> tasks, const SavedRows& rows, Options options);

  std::vector<Pick> Propose(int count);
  void Learn(std::span<const Seen> batch);
  // True if the last Propose found no trial and nothing was learned since.
  bool Done() const { return exhausted_; }
  // Why no trial is worth making, for display.
  std::string WhyDone() const;
  const TaskSearch& task(int number) const { return *tasks_[static_cast<size_t>(number)].search; }
  size_t size() const { return tasks_.size(); }
  SavedRows Gathered() const;

 private:
  struct Task {
    std::unique_ptr<TaskSearch> search;
    std::vector<double> uses;
    double weight = 1;    // executions in the variants that may win, weighted; 0: none
    double headroom = 0;  // see TaskOutlook; only of models in variants
    double gain = 0;      // per trial, in time of the model
    bool fresh = false;   // gain and headroom are up to date
  };

  WinProbabilities VariantWinProbabilities();
  // The weight of a task without a kernel beyond the gain of its next trial.
  double FirstTrialBonus(const Task& task, size_t leader, bool due) const;
  // True once predicted times are to be measured: there were as many trials as tasks, or few trials
  // are left.
  bool PredictionsAreDue() const;
  int NextTask();
  // Picks the default of a task that was searched without it; false if there is no such task.
  bool ProposeDefault(std::vector<Pick>& picks);
  int64_t DefaultsLeft() const;
  // Picks at most `most` leaders of one task; false if no task needs it.
  bool ProposeGroup(size_t most, std::vector<Pick>& picks);
  bool ProposeNew(std::vector<Pick>& picks);
  // Tasks whose leaders may have to be measured again.
  int64_t WeightedTasks() const;
  bool CanVerify() const;

  Options options_;
  SharedModels models_;
  std::vector<Task> tasks_;
  int64_t proposed_ = 0;
  bool exhausted_ = false;
};

}  // namespace mlc::server
