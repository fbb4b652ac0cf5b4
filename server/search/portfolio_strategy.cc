#include "server/search/portfolio_strategy.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "costmodel/features.h"
#include "server/search/kernel_candidates.h"
#include "server/search/portfolio.h"
#include "server/search/tuned_candidates.h"

namespace mlc::server {
namespace {

Ending EndingOf(const Measurement& m) {
  switch (m.outcome) {
    case Outcome::kOk:
      return m.median_ns > 0 ? Ending::kTimed : Ending::kFailed;
    case Outcome::kTooSlow:
      return Ending::kTooSlow;
    case Outcome::kInfra:
      return Ending::kNotMade;
    default:
      return Ending::kFailed;
  }
}

// What a build would take for the task, best first; see costmodel/transfer.h.
std::vector<costmodel::PriorConfig> PriorConfigsOf(
    const graph::Workload& workload, const target::Target& target,
    const std::vector<costmodel::SimilarWorkload>& related,
    const std::vector<costmodel::Problem>& problems) {
  std::vector<const costmodel::SimilarWorkload*> nearest;
  for (const size_t i :
       costmodel::NearestProblems(costmodel::DescribeProblem(workload), problems)) {
    if (related[i].workload.digest() == workload.digest()) continue;
    if (nearest.size() < costmodel::kMostSimilar) nearest.push_back(&related[i]);
  }
  auto configs = costmodel::PriorConfigsFor(workload, target, nearest);
  return configs.ok() ? *std::move(configs) : std::vector<costmodel::PriorConfig>();
}

// Rows of the feature table of this program; others are history.
Portfolio::SavedRows RowsOf(const std::vector<SavedModel>& models) {
  Portfolio::SavedRows rows;
  const Digest schema = costmodel::FeatureSchema();
  for (const SavedModel& model : models) {
    if (model.features != schema) continue;
    auto parsed = costmodel::Experience::FromBytes(model.bytes, costmodel::Features().size());
    if (parsed.ok()) rows.emplace_back(model.family, *std::move(parsed));
  }
  return rows;
}

// What earlier jobs measured of the candidates.
std::vector<PortfolioTask::Known> KnownOf(const SearchTask& task, const ConfigSource& source) {
  std::vector<PortfolioTask::Known> known;
  for (const PriorTrial& prior : task.prior) {
    const auto point = source.Find(prior.config);
    if (!point) continue;
    known.push_back(
        {*point, EndingOf(prior.measurement), prior.measurement.median_ns, prior.confirmed});
  }
  return known;
}

class PortfolioStrategy : public Strategy {
 public:
  // `sources`: of the tasks, in order; the tasks own them.
  PortfolioStrategy(std::vector<PortfolioTask> tasks, std::vector<const ConfigSource*> sources,
                    const Portfolio::SavedRows& rows, Portfolio::Options options, bool keeps_models)
      : sources_(std::move(sources)),
        portfolio_(std::make_unique<Portfolio>(std::move(tasks), rows, options)),
        keeps_models_(keeps_models) {}

  std::vector<Proposal> Propose(int count) override {
    std::vector<Proposal> batch;
    for (const Pick& pick : portfolio_->Propose(count)) {
      Proposal proposal;
      proposal.task = pick.task;
      proposal.config = ConfigOf(pick.task, pick.candidate);
      proposal.repeat = pick.repeat;
      proposal.group = pick.group;
      proposal.arm = pick.arm;
      proposal.predicted_rank = pick.rank;
      proposal.predicted_ns = pick.predicted_ns;
      proposal.early_stop_ns = pick.early_stop_ns;
      picks_[{pick.task, proposal.config.ToText(), pick.repeat}] = pick;
      batch.push_back(std::move(proposal));
    }
    return batch;
  }

  void Learn(std::span<const Observation> batch) override {
    std::vector<Portfolio::Seen> seen;
    for (const Observation& observation : batch) {
      const Proposal& proposal = observation.proposal;
      const auto pick = picks_.find({proposal.task, proposal.config.ToText(), proposal.repeat});
      if (pick == picks_.end()) continue;
      seen.push_back(
          {pick->second, EndingOf(observation.measurement), observation.measurement.median_ns});
      picks_.erase(pick);
    }
    portfolio_->Learn(seen);
  }

  bool Done() const override { return portfolio_->Done(); }
  std::string WhyDone() const override { return portfolio_->WhyDone(); }

  std::vector<TaskProgress> Progress() const override {
    std::vector<TaskProgress> progress;
    for (size_t i = 0; i < portfolio_->size(); ++i) {
      const auto number = static_cast<int>(i);
      const TaskSearch& task = portfolio_->task(number);
      TaskProgress& entry = progress.emplace_back();
      entry.trials = task.trials();
      entry.best_ns = task.best_ns();
      if (task.best() >= 0) entry.best = ConfigOf(number, task.best());
      entry.default_ns = task.default_ns();
      entry.done = task.done();
      if (task.prior_config() >= 0) entry.prior_config = ConfigOf(number, task.prior_config());
      entry.estimate_ns = task.estimate_ns();
    }
    return progress;
  }

  std::vector<SavedModel> Models() const override {
    std::vector<SavedModel> models;
    if (!keeps_models_) return models;
    for (const auto& [family, rows] : portfolio_->Gathered()) {
      if (rows.size() == 0) continue;
      models.push_back({family, costmodel::FeatureSchema(), rows.ToBytes()});
    }
    return models;
  }

 private:
  using Key = std::tuple<int, std::string, int>;

  schedule::Config ConfigOf(int task, int candidate) const {
    const Pool& pool = portfolio_->task(task).pool();
    return sources_[static_cast<size_t>(task)]->ConfigOf(pool.family(candidate),
                                                         pool.point(candidate));
  }

  const std::vector<const ConfigSource*> sources_;  // owned by the portfolio
  const std::unique_ptr<Portfolio> portfolio_;
  const bool keeps_models_;
  std::map<Key, Pick> picks_;  // under way
};

}  // namespace

std::unique_ptr<Strategy> MakePortfolioStrategy(SearchInput input) {
  std::vector<costmodel::Problem> problems;
  for (const costmodel::SimilarWorkload& related : input.related) {
    problems.push_back(costmodel::DescribeProblem(related.workload));
  }
  std::vector<PortfolioTask> tasks;
  std::vector<const ConfigSource*> sources;
  for (const SearchTask& task : input.tasks) {
    auto source = std::make_unique<KernelCandidates>(task.workload, input.target);
    sources.push_back(source.get());
    PortfolioTask entry;
    entry.uses = {static_cast<double>(task.occurrences)};
    if (!task.uses.empty()) entry.uses.assign(task.uses.begin(), task.uses.end());
    entry.known = KnownOf(task, *source);
    for (const costmodel::PriorConfig& prior :
         PriorConfigsOf(task.workload, input.target, input.related, problems)) {
      const bool transferred = prior.similar >= 0;
      const auto point = source->Find(prior.config);
      if (point)
        entry.prior_configs.push_back({*point, transferred, transferred ? prior.expected_ns : 0});
    }
    for (const schedule::Config& config : task.of_other_targets) {
      const auto here = costmodel::TransferConfig(config, task.workload, input.target);
      const auto point = here ? source->Find(*here) : std::nullopt;
      if (point) entry.of_other_devices.push_back(*point);
    }
    entry.source = std::move(source);
    tasks.push_back(std::move(entry));
  }
  return std::make_unique<PortfolioStrategy>(
      std::move(tasks), std::move(sources), RowsOf(input.models),
      Portfolio::Options{input.trials, input.seed}, /*keeps_models=*/true);
}

std::unique_ptr<Strategy> MakeTunedKernelStrategy(const SearchInput& input,
                                                  schedule::TunedKernel kernel) {
  auto source = std::make_unique<TunedCandidates>(std::move(kernel), input.target);
  const ConfigSource* const borrowed = source.get();
  std::vector<PortfolioTask> tasks(1);
  tasks[0].known = KnownOf(input.tasks.front(), *source);
  tasks[0].prior_configs.push_back({source->Defaults().front(), false, 0});
  tasks[0].source = std::move(source);
  return std::make_unique<PortfolioStrategy>(
      std::move(tasks), std::vector{borrowed}, Portfolio::SavedRows(),
      Portfolio::Options{input.trials, input.seed}, /*keeps_models=*/false);
}

}  // namespace mlc::server
