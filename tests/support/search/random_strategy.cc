#include "tests/support/search/random_strategy.h"

#include <set>
#include <string>
#include <utility>

#include "base/rng.h"
#include "compiler/schedule/space/family.h"
#include "compiler/schedule/space/space.h"

namespace mlc::server {
namespace {

// Draws that give no new legal config before a task counts as exhausted.
constexpr int kFruitlessDraws = 2000;

struct FamilySpace {
  const schedule::Family* family;
  schedule::Space space;
};

class RandomStrategy : public Strategy {
 public:
  explicit RandomStrategy(SearchInput input) : input_(std::move(input)) {
    Rng root(input_.seed);
    for (size_t i = 0; i < input_.tasks.size(); ++i) {
      State& state = states_.emplace_back(root.Split(i));
      const graph::Workload& workload = input_.tasks[i].workload;
      for (const schedule::Family* family : schedule::FamiliesFor(workload, input_.target)) {
        state.spaces.push_back({family, family->MakeSpace(workload, input_.target)});
      }
      for (const PriorTrial& prior : input_.tasks[i].prior) Count(state, prior);
      state.progress.done = state.spaces.empty();
    }
  }

  std::vector<Proposal> Propose(int count) override {
    std::vector<Proposal> batch;
    size_t fruitless = 0;
    while (static_cast<int>(batch.size()) < count && fruitless < states_.size()) {
      const size_t task = next_task_++ % states_.size();
      std::optional<Proposal> proposal = Draw(task);
      fruitless = proposal ? 0 : fruitless + 1;
      if (proposal) batch.push_back(*std::move(proposal));
    }
    return batch;
  }

  void Learn(std::span<const Observation> batch) override {
    for (const Observation& seen : batch) {
      State& state = states_[static_cast<size_t>(seen.proposal.task)];
      ++state.progress.trials;
      const Measurement& m = seen.measurement;
      if (m.outcome != Outcome::kOk) continue;
      if (seen.proposal.arm == "default" && state.progress.default_ns == 0) {
        state.progress.default_ns = m.median_ns;
      }
      Improve(state, seen.proposal.config, m.median_ns);
    }
  }

  bool Done() const override {
    for (const State& state : states_) {
      if (!state.progress.done) return false;
    }
    return true;
  }

  std::vector<TaskProgress> Progress() const override {
    std::vector<TaskProgress> progress;
    for (const State& state : states_) progress.push_back(state.progress);
    return progress;
  }

  std::vector<SavedModel> Models() const override { return {}; }

 private:
  struct State {
    explicit State(Rng rng) : rng(rng) {}
    Rng rng;
    std::vector<FamilySpace> spaces;
    size_t defaults = 0;  // families whose default was proposed
    std::set<std::string> proposed;
    TaskProgress progress;
  };

  static void Improve(State& state, const schedule::Config& config, double ns) {
    if (state.progress.best_ns != 0 && ns >= state.progress.best_ns) return;
    state.progress.best_ns = ns;
    state.progress.best = config;
  }

  static void Count(State& state, const PriorTrial& prior) {
    if (prior.measurement.outcome != Outcome::kOk) return;
    for (const FamilySpace& entry : state.spaces) {
      if (entry.space.family == prior.config.family &&
          entry.space.version == prior.config.version && entry.space.RankOf(prior.config) >= 0) {
        Improve(state, prior.config, prior.measurement.median_ns);
      }
    }
  }

  std::optional<Proposal> Draw(size_t task) {
    State& state = states_[task];
    const graph::Workload& workload = input_.tasks[task].workload;
    while (state.defaults < state.spaces.size()) {
      const schedule::Family* family = state.spaces[state.defaults++].family;
      schedule::Config config = family->Default(workload, input_.target);
      if (state.proposed.insert(config.ToText()).second) return Make(task, config, "default");
    }
    for (int draw = 0; draw < kFruitlessDraws && !state.progress.done; ++draw) {
      const FamilySpace& entry = state.spaces[state.rng.Below(state.spaces.size())];
      const int64_t points = entry.space.NumPoints();
      if (points == 0) continue;
      schedule::Config config =
          entry.space.At(static_cast<int64_t>(state.rng.Below(static_cast<uint64_t>(points))));
      if (entry.family->Check(workload, input_.target, config) != schedule::RejectReason::kNone) {
        continue;
      }
      if (state.proposed.insert(config.ToText()).second) return Make(task, config, "random");
    }
    state.progress.done = true;
    return std::nullopt;
  }

  static Proposal Make(size_t task, schedule::Config config, const char* arm) {
    Proposal proposal;
    proposal.task = static_cast<int>(task);
    proposal.config = std::move(config);
    proposal.arm = arm;
    return proposal;
  }

  SearchInput input_;
  std::vector<State> states_;
  size_t next_task_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> MakeRandomStrategy(SearchInput input) {
  return std::make_unique<RandomStrategy>(std::move(input));
}

}  // namespace mlc::server
