// What every search must keep of its contract, on kernel spaces and a device that is a formula.
#include "server/search/strategy.h"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "base/rng.h"
#include "compiler/schedule/space/family.h"
#include "server/search/portfolio_strategy.h"
#include "tests/support/search/random_strategy.h"
#include "tests/unit/costmodel/conv_workload.h"

namespace mlc::server {
namespace {

using costmodel::MakeConv;

struct Named {
  const char* name;
  StrategyFactory make;
};

class StrategyTest : public ::testing::TestWithParam<Named> {
 protected:
  static SearchInput Input(int64_t trials) {
    SearchInput input;
    input.target.cpu().isa = target::Isa::kAvx2;
    input.target.cpu().threads = 2;
    input.seed = 7;
    input.trials = trials;
    input.tasks.push_back({MakeConv(64, 28, 64, 3), 3, {}});
    input.tasks.push_back({MakeConv(32, 14, 96, 1), 1, {}});
    return input;
  }

  // Fails at times, in every way; depends on task and config alone.
  static Measurement Measure(const Proposal& proposal) {
    const Digest digest = DigestOf(proposal.config.ToText());
    Rng rng(digest.low + static_cast<uint64_t>(proposal.task));
    Measurement m;
    const uint64_t dice = rng.Below(20);
    m.outcome = dice < 6 ? static_cast<Outcome>(1 + dice) : Outcome::kOk;
    if (dice == 6) m.outcome = Outcome::kInfra;
    if (m.outcome == Outcome::kOk || m.outcome == Outcome::kTooSlow) {
      m.median_ns = 1e5 * (1 + rng.Uniform());
    }
    return m;
  }

  // The calls of a job with two batches in flight; returns every trial as text.
  static std::string Run(Strategy& strategy, const SearchInput& input, int batch) {
    std::string story;
    std::vector<std::vector<Proposal>> flight;
    int64_t proposed = 0;
    std::set<std::tuple<int, std::string, int>> seen;
    while (true) {
      while (flight.size() < 2 && proposed < input.trials && !strategy.Done()) {
        const auto count = static_cast<int>(std::min<int64_t>(batch, input.trials - proposed));
        flight.push_back(strategy.Propose(count));
        EXPECT_LE(flight.back().size(), static_cast<size_t>(count));
        proposed += static_cast<int64_t>(flight.back().size());
        for (const Proposal& p : flight.back()) {
          EXPECT_TRUE(seen.insert({p.task, p.config.ToText(), p.repeat}).second) << "twice";
          const schedule::Family* family = schedule::FindFamily(p.config.family);
          EXPECT_NE(family, nullptr);
          EXPECT_EQ(family->Check(input.tasks[static_cast<size_t>(p.task)].workload, input.target,
                                  p.config),
                    schedule::RejectReason::kNone);
          EXPECT_FALSE(p.arm.empty());
          story += std::to_string(p.task) + " " + p.config.ToText() + " " + p.arm + "\n";
        }
        if (flight.back().empty()) break;
      }
      if (flight.empty() || (flight.size() == 1 && flight[0].empty())) return story;
      std::vector<Observation> results;
      for (const Proposal& p : flight.front()) results.push_back({p, Measure(p)});
      flight.erase(flight.begin());
      strategy.Learn(results);
    }
  }
};

TEST_P(StrategyTest, IsDeterministic) {
  std::string stories[2];
  for (std::string& story : stories) {
    SearchInput input = Input(120);
    const auto strategy = GetParam().make(input);
    story = Run(*strategy, input, 16);
    story += std::to_string(strategy->Models().size());
    for (const SavedModel& model : strategy->Models()) story += DigestOf(model.bytes).ToText();
  }
  EXPECT_EQ(stories[0], stories[1]);
  EXPECT_GT(std::count(stories[0].begin(), stories[0].end(), '\n'), 60);
}

// A resumed job repeats the calls of its first part.
TEST_P(StrategyTest, IsDeterministicForAModelInVariants) {
  SearchInput input = Input(120);
  input.tasks.push_back({MakeConv(32, 14, 64, 1), 3, {}});
  input.tasks[0].uses = {1, 0};
  input.tasks[1].uses = {2, 2};
  input.tasks[2].uses = {0, 3};
  std::string stories[2];
  for (std::string& story : stories) story = Run(*GetParam().make(input), input, 16);
  EXPECT_EQ(stories[0], stories[1]);
  EXPECT_GT(std::count(stories[0].begin(), stories[0].end(), '\n'), 60);
}

TEST_P(StrategyTest, ProgressTellsWhatWasMeasured) {
  SearchInput input = Input(100);
  const auto strategy = GetParam().make(input);
  Run(*strategy, input, 8);
  const std::vector<TaskProgress> progress = strategy->Progress();
  ASSERT_EQ(progress.size(), input.tasks.size());
  int64_t trials = 0;
  for (size_t i = 0; i < progress.size(); ++i) {
    trials += progress[i].trials;
    ASSERT_TRUE(progress[i].best.has_value());
    Proposal proposal;
    proposal.task = static_cast<int>(i);
    proposal.config = *progress[i].best;
    EXPECT_EQ(Measure(proposal).outcome, Outcome::kOk);
    EXPECT_DOUBLE_EQ(Measure(proposal).median_ns, progress[i].best_ns);
  }
  EXPECT_LE(trials, input.trials);
  EXPECT_GT(trials, 50);
}

TEST_P(StrategyTest, ToleratesForeignHistory) {
  SearchInput input = Input(40);
  Measurement good;
  good.outcome = Outcome::kOk;
  good.median_ns = 5;
  for (const char* text : {"nowhere/1 a=1", "contraction/99 mr=1", "contraction/1 mr=1"}) {
    input.tasks[0].prior.push_back({*schedule::Config::Parse(text), good});
    input.related.push_back({MakeConv(64, 28, 128, 3), {{*schedule::Config::Parse(text), 5}}});
  }
  input.models.push_back({"contraction", Digest{1, 2}, "rows of another schema"});
  input.models.push_back({"*", Digest{}, ""});
  const auto strategy = GetParam().make(input);
  Run(*strategy, input, 8);
  EXPECT_GT(strategy->Progress()[0].best_ns, 5);
}

TEST_P(StrategyTest, StartsFromWhatIsKnown) {
  SearchInput input = Input(40);
  const schedule::Config config =
      schedule::FamiliesFor(input.tasks[0].workload, input.target)[0]->Default(
          input.tasks[0].workload, input.target);
  Measurement good;
  good.outcome = Outcome::kOk;
  good.median_ns = 5;
  input.tasks[0].prior.push_back({config, good});
  const auto strategy = GetParam().make(input);
  EXPECT_EQ(strategy->Progress()[0].best_ns, 5);
  EXPECT_EQ(strategy->Progress()[0].best, config);
  EXPECT_EQ(strategy->Progress()[0].trials, 0);
}

TEST_P(StrategyTest, AJobWithoutTasksEnds) {
  SearchInput input = Input(10);
  input.tasks.clear();
  const auto strategy = GetParam().make(input);
  EXPECT_TRUE(strategy->Propose(4).empty());
  EXPECT_TRUE(strategy->Done());
}

INSTANTIATE_TEST_SUITE_P(All, StrategyTest,
                         ::testing::Values(Named{"random", MakeRandomStrategy},
                                           Named{"portfolio", MakePortfolioStrategy}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace mlc::server
