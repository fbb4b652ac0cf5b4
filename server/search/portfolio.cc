#include "server/search/portfolio.h"

#include <algorithm>

namespace mlc::server {
namespace {

// The last trials measure the leaders again, if the budget has some to spare.
constexpr int64_t kTrialsPerTaskToVerify = 12;
constexpr int64_t kRepeatsPerTask = 2;
// Below this share of the model's time no trial is spent on a task.
constexpr double kNegligible = 2e-5;

}  // namespace

Portfolio::Portfolio(std::vector<PortfolioTask> tasks, const SavedRows& rows, Options options)
    : options_(options) {
  for (const auto& [family, experience] : rows) {
    SharedModel model(experience.columns());
    model.SetPrior(experience);
    models_.emplace(family, std::move(model));
  }
  Rng root(options.seed);
  for (size_t i = 0; i < tasks.size(); ++i) {
    Task& task = tasks_.emplace_back();
    task.occurrences = tasks[i].occurrences;
    task.search = std::make_unique<TaskSearch>(std::move(tasks[i].source), models_, root.Split(i));
    for (const PortfolioTask::Known& known : tasks[i].known) {
      task.search->AddKnown(known.point, known.ending, known.ns);
    }
    for (const PointRef& point : tasks[i].related) task.search->AddSeed(point, "transfer");
    task.search->Start();
  }
}

// The task whose next trial is expected to save most; those without any trial first. -1: none.
int Portfolio::Neediest() {
  int best = -1;
  double best_need = 0, total = 0;
  for (const Task& task : tasks_) total += task.occurrences * task.search->TimeOrEstimate();
  for (size_t i = 0; i < tasks_.size(); ++i) {
    Task& task = tasks_[i];
    if (task.search->done()) continue;
    if (!task.fresh) {
      const double weight = task.occurrences * task.search->TimeOrEstimate() / total;
      task.gain = weight * task.search->ExpectedGain();
      if (!task.search->started()) task.gain += 1;
      task.fresh = true;
    }
    if (task.gain > std::max(best_need, kNegligible)) {
      best_need = task.gain;
      best = static_cast<int>(i);
    }
  }
  return best;
}

bool Portfolio::CanVerify() const {
  return options_.trials >= kTrialsPerTaskToVerify * static_cast<int64_t>(tasks_.size());
}

bool Portfolio::ProposeRepeat(Pick& pick) {
  for (size_t i = 0; i < tasks_.size(); ++i) {
    pick = Pick();
    pick.task = static_cast<int>(i);
    if (tasks_[i].search->NextRepeat(pick)) return true;
  }
  return false;
}

bool Portfolio::ProposeNew(Pick& pick) {
  while (true) {
    pick = Pick();
    pick.task = Neediest();
    if (pick.task < 0) return false;
    Task& task = tasks_[static_cast<size_t>(pick.task)];
    task.fresh = false;
    if (task.search->Next(pick)) return true;
  }
}

std::vector<Pick> Portfolio::Propose(int count) {
  std::vector<Pick> picks;
  const int64_t reserve = kRepeatsPerTask * static_cast<int64_t>(tasks_.size());
  while (static_cast<int>(picks.size()) < count) {
    Pick pick;
    const bool late = CanVerify() && proposed_ >= options_.trials - reserve;
    bool found = late && ProposeRepeat(pick);
    found = found || ProposeNew(pick);
    found = found || (CanVerify() && ProposeRepeat(pick));
    if (!found) break;
    picks.push_back(pick);
    ++proposed_;
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

Portfolio::SavedRows Portfolio::Gathered() const {
  SavedRows rows;
  for (const auto& [family, model] : models_) rows.emplace_back(family, model.Gathered());
  return rows;
}

}  // namespace mlc::server
