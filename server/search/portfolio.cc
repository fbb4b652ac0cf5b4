#include "server/search/portfolio.h"

#include <algorithm>

namespace mlc::server {
namespace {

// The last trials measure defaults that were left out and the leaders again, if the budget has some
// to spare.
constexpr int64_t kTrialsPerTaskToVerify = 12;
constexpr int64_t kRepeatsPerTask = 3;
constexpr size_t kMostTogether = 4;
// Below this share of the model's time no trial is spent on a task.
constexpr double kNegligible = 2e-5;
// Bonus of a first trial where the leading variant does without the task: below that of its own
// tasks (1 and more), above all gains.
constexpr double kFirstOfRest = 0.5;
// Fast configs of other devices get one of so many trials, spread evenly over the tasks.
constexpr int64_t kTrialsPerTransferred = 4;

// The first of them: with few trials, the rest would leave none for the search itself.
std::span<const PointRef> WithinBudget(const std::vector<PointRef>& of_other_devices,
                                       int64_t trials, size_t tasks) {
  const int64_t most = trials / (kTrialsPerTransferred * static_cast<int64_t>(tasks));
  return std::span(of_other_devices)
      .first(std::min(of_other_devices.size(), static_cast<size_t>(std::max<int64_t>(1, most))));
}

}  // namespace

Portfolio::Portfolio(std::vector<PortfolioTask> tasks, const SavedRows& rows, Options options)
    : options_(options) {
  for (const auto& [family, experience] : rows) {
    SharedModel model(experience.columns(), options_.constants.online_trees);
    model.SetPrior(experience);
    models_.emplace(family, std::move(model));
  }
  Rng root(options.seed);
  for (size_t i = 0; i < tasks.size(); ++i) {
    Task& task = tasks_.emplace_back();
    task.uses = std::move(tasks[i].uses);
    task.search = std::make_unique<TaskSearch>(std::move(tasks[i].source), models_,
                                               options_.constants, root.Split(i));
    for (const PortfolioTask::Known& known : tasks[i].known) {
      task.search->AddKnown(known.point, known.ending, known.ns, known.confirmed);
    }
    for (const PortfolioTask::PriorConfig& prior : tasks[i].prior_configs) {
      task.search->AddPriorConfig(prior.point, prior.transferred ? "transfer" : "default",
                                  prior.expected_ns);
    }
    task.search->Start(WithinBudget(tasks[i].of_other_devices, options.trials, tasks.size()));
  }
}

// Of each variant, how likely it is the fastest in the end.
WinProbabilities Portfolio::VariantWinProbabilities() {
  std::vector<TaskOutlook> outlooks;
  for (Task& task : tasks_) {
    const double ns = task.search->TimeOrEstimate();
    if (!task.fresh && task.uses.size() > 1) task.headroom = task.search->Headroom();
    outlooks.push_back({ns, task.headroom, task.uses, task.search->given_up()});
  }
  return WinProbabilitiesOf(outlooks);
}

bool Portfolio::PredictionsAreDue() const {
  const auto firsts = std::count_if(tasks_.begin(), tasks_.end(), [](const Task& task) {
    return task.weight > 0 && task.search->wants_first();
  });
  const int64_t end = CanVerify() ? kRepeatsPerTask * WeightedTasks() + DefaultsLeft() : 0;
  return proposed_ >= WeightedTasks() || options_.trials - proposed_ <= firsts + end;
}

// A task without a kernel comes first, and among several those of the leading variant. A time that
// is predicted from what was measured before may wait while the heaviest get a few trials each: of
// one trial each, all tasks would be reported slower than they end.
double Portfolio::FirstTrialBonus(const Task& task, size_t leader, bool due) const {
  if (!task.search->wants_first() || (task.search->predicted() && !due)) return 0;
  return task.uses[leader] > 0 ? 1 : kFirstOfRest;
}

// The task whose next trial is expected to save most, with the bonus of first trials. -1: none.
int Portfolio::NextTask() {
  int best = -1;
  double best_priority = 0;
  const WinProbabilities variants = VariantWinProbabilities();
  const bool due = PredictionsAreDue();
  for (size_t i = 0; i < tasks_.size(); ++i) {
    Task& task = tasks_[i];
    task.weight = variants.WeightOf(task.uses);
    if (task.search->done() || task.weight <= 0) continue;
    if (!task.fresh) {
      const double share = task.weight * task.search->TimeOrEstimate() / variants.leader_ns;
      task.gain = share * task.search->ExpectedGain();
      task.fresh = true;
    }
    const double priority = task.gain + FirstTrialBonus(task, variants.leader, due);
    if (priority > std::max(best_priority, kNegligible)) {
      best_priority = priority;
      best = static_cast<int>(i);
    }
  }
  return best;
}

int64_t Portfolio::WeightedTasks() const {
  return std::count_if(tasks_.begin(), tasks_.end(),
                       [](const Task& task) { return task.weight > 0; });
}

bool Portfolio::CanVerify() const {
  return options_.trials >= kTrialsPerTaskToVerify * WeightedTasks();
}

int64_t Portfolio::DefaultsLeft() const {
  return std::count_if(tasks_.begin(), tasks_.end(), [](const Task& task) {
    return task.weight > 0 && task.search->lacks_default();
  });
}

bool Portfolio::ProposeDefault(std::vector<Pick>& picks) {
  for (size_t i = 0; i < tasks_.size(); ++i) {
    Pick pick;
    pick.task = static_cast<int>(i);
    if (tasks_[i].weight <= 0 || !tasks_[i].search->NextDefault(pick)) continue;
    tasks_[i].fresh = false;
    picks.push_back(pick);
    return true;
  }
  return false;
}

bool Portfolio::ProposeGroup(size_t most, std::vector<Pick>& picks) {
  for (size_t i = 0; i < tasks_.size(); ++i) {
    if (tasks_[i].weight <= 0) continue;
    std::vector<Pick> group = tasks_[i].search->NextGroup(std::min(most, kMostTogether));
    for (Pick& pick : group) {
      pick.task = static_cast<int>(i);
      picks.push_back(pick);
    }
    if (!group.empty()) return true;
  }
  return false;
}

bool Portfolio::ProposeNew(std::vector<Pick>& picks) {
  while (true) {
    Pick pick;
    pick.task = NextTask();
    if (pick.task < 0) return false;
    Task& task = tasks_[static_cast<size_t>(pick.task)];
    task.fresh = false;
    if (!task.search->Next(pick)) continue;
    picks.push_back(pick);
    return true;
  }
}

std::vector<Pick> Portfolio::Propose(int count) {
  std::vector<Pick> picks;
  const auto most = static_cast<size_t>(std::max(count, 0));
  while (picks.size() < most) {
    const size_t before = picks.size();
    const int64_t left = options_.trials - proposed_, reserve = kRepeatsPerTask * WeightedTasks();
    const bool verifies = CanVerify();
    bool found = verifies && left <= reserve + DefaultsLeft() && ProposeDefault(picks);
    found = found || (verifies && left <= reserve && ProposeGroup(most - before, picks));
    found = found || ProposeNew(picks);
    found = found || (verifies && (ProposeDefault(picks) || ProposeGroup(most - before, picks)));
    if (!found) break;
    proposed_ += static_cast<int64_t>(picks.size() - before);
  }
  exhausted_ = picks.empty();
  return picks;
}

void Portfolio::Learn(std::span<const Seen> batch) {
  for (const Seen& seen : batch) {
    tasks_[static_cast<size_t>(seen.pick.task)].search->Learn(seen.pick, seen.ending, seen.ns);
  }
  for (auto& [family, model] : models_) model.Refresh();
  for (Task& task : tasks_) task.fresh = false;
  exhausted_ = false;
}

std::string Portfolio::WhyDone() const {
  const auto ended = std::count_if(tasks_.begin(), tasks_.end(),
                                   [](const Task& task) { return task.search->done(); });
  return "nothing more to gain: " + std::to_string(ended) + " of " + std::to_string(tasks_.size()) +
         " tasks are searched to the end, and a trial of the others is expected to save less than "
         "0.002 % of the model's time";
}

Portfolio::SavedRows Portfolio::Gathered() const {
  SavedRows rows;
  for (const auto& [family, model] : models_) rows.emplace_back(family, model.Gathered());
  return rows;
}

}  // namespace mlc::server
