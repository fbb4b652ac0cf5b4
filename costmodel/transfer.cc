#include "costmodel/transfer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <tuple>
#include <utility>

#include "costmodel/analytic.h"
#include "costmodel/default_config.h"

namespace mlc::costmodel {
namespace {

using schedule::Config;
using schedule::Family;
using schedule::RejectReason;

// Of each similar workload, as many of its fastest configs.
constexpr size_t kConfigsEach = 3;
// A searched best over a default that was not measured beside it.
constexpr double kUsualGain = 1.05;
// Log time added to a transferred config for each doubling of distance.
constexpr double kDistancePenalty = 0.02;

// Of `domain`, the value closest to `value` on a logarithmic scale.
int64_t ClosestIn(const std::vector<int64_t>& domain, int64_t value) {
  const auto scale = [](int64_t v) {
    return v > 0 ? std::log2(1 + static_cast<double>(v)) : static_cast<double>(v);
  };
  return *std::min_element(domain.begin(), domain.end(), [&](int64_t a, int64_t b) {
    return std::abs(scale(a) - scale(value)) < std::abs(scale(b) - scale(value));
  });
}

double EstimateOf(const schedule::Problem& problem, const target::Target& target,
                  const Config& config) {
  return std::max(1.0, EstimateKernel(problem.Facts(config), target).total_ns);
}

// The legal config with the lowest estimate that differs in one knob.
std::optional<Config> Repair(const schedule::Problem& problem, const schedule::Space& space,
                             const target::Target& target, const Config& wanted) {
  std::optional<Config> best;
  double best_ns = std::numeric_limits<double>::infinity();
  for (size_t k = 0; k < space.knobs.size(); ++k) {
    Config changed = wanted;
    for (const int64_t value : space.knobs[k].domain) {
      changed.knobs[k].second = value;
      if (problem.Check(changed) != RejectReason::kNone) continue;
      const double ns = EstimateOf(problem, target, changed);
      if (ns >= best_ns) continue;
      best_ns = ns;
      best = changed;
    }
  }
  return best;
}

// The workload opened by a config's family, if this build can make sense of the config for it.
std::unique_ptr<const schedule::Problem> OpenFor(const Config& config,
                                                 const graph::Workload& workload,
                                                 const target::Target& target) {
  const Family* family = schedule::FindFamily(config.family);
  const bool known =
      family != nullptr && family->version() == config.version && family->Accepts(workload, target);
  return known ? family->Open(workload, target) : nullptr;
}

// A quotient of measured over estimated time, or 0.
double ErrorOf(const Config& config, double ns, const graph::Workload& workload,
               const target::Target& target) {
  const std::unique_ptr<const schedule::Problem> problem = OpenFor(config, workload, target);
  if (problem == nullptr || problem->MakeSpace().RankOf(config) < 0 ||
      problem->Check(config) != RejectReason::kNone) {
    return 0;
  }
  return ns / EstimateOf(*problem, target, config);
}

class PriorRanking {
 public:
  PriorRanking(const graph::Workload& workload, const target::Target& target)
      : workload_(workload), target_(target.WithoutPeaks()), problem_(DescribeProblem(workload)) {}

  Status Default() {
    const Config config = MLC_TRY(DefaultConfig(workload_, target_));
    default_estimate_ = EstimateHere(config);
    ranked_.push_back({0, {config, default_estimate_, -1, 0}});
    return Status();
  }

  void Add(int number, const SimilarWorkload& similar) {
    const Result<Config> there = DefaultConfig(similar.workload, target_);
    if (!there.ok() || similar.best.empty()) return;
    const Config& usual = *there;
    const double usual_ns =
        similar.default_ns > 0 ? similar.default_ns : kUsualGain * similar.best[0].ns;
    const double usual_error = ErrorOf(usual, usual_ns, similar.workload, target_);
    if (usual_error <= 0) return;
    PriorConfig& ours = ranked_[0].second;
    const double ours_ns = default_estimate_ * usual_error;
    if (!anchored_) ours.expected_ns = ours_ns;
    anchored_ = true;
    const double penalty = kDistancePenalty * Distance(problem_, DescribeProblem(similar.workload));
    for (size_t place = 0; place < std::min(kConfigsEach, similar.best.size()); ++place) {
      const Timed& timed = similar.best[place];
      // Its own default is the counterpart of the default there.
      if (timed.config == usual) continue;
      const double error = ErrorOf(timed.config, timed.ns, similar.workload, target_);
      std::optional<Config> transferred = TransferConfig(timed.config, workload_, target_);
      if (error <= 0 || !transferred) continue;
      const double ns = error * EstimateHere(*transferred);
      Add(std::log(ns / ours_ns) + penalty, {*std::move(transferred), ns, number, place});
    }
  }

  std::vector<PriorConfig> BestFirst() && {
    std::stable_sort(ranked_.begin(), ranked_.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<PriorConfig> priors;
    for (auto& [score, prior] : ranked_) priors.push_back(std::move(prior));
    return priors;
  }

 private:
  // REQUIRES: a config of a family that accepts the workload.
  double EstimateHere(const Config& config) const {
    const Family& family = *schedule::FindFamily(config.family);
    return EstimateOf(*family.Open(workload_, target_), target_, config);
  }

  // By log time over the default's.
  void Add(double score, PriorConfig prior) {
    for (const auto& [other, known] : ranked_) {
      if (known.config == prior.config) return;
    }
    ranked_.emplace_back(score, std::move(prior));
  }

  const graph::Workload& workload_;
  target::Target target_;
  const Problem problem_;
  std::vector<std::pair<double, PriorConfig>> ranked_;  // the default first
  double default_estimate_ = 0;
  bool anchored_ = false;
};

}  // namespace

std::vector<NearProblem> NearProblems(const Problem& problem, std::span<const Problem> others) {
  std::vector<NearProblem> near;
  for (size_t i = 0; i < others.size(); ++i) {
    const double distance = Distance(problem, others[i]);
    if (distance <= kFarthestSimilar) near.push_back({distance, i});
  }
  std::sort(near.begin(), near.end(), [](const NearProblem& a, const NearProblem& b) {
    return std::tie(a.distance, a.index) < std::tie(b.distance, b.index);
  });
  return near;
}

std::vector<size_t> NearestProblems(const Problem& problem, std::span<const Problem> others) {
  std::vector<size_t> nearest;
  for (const NearProblem& near : NearProblems(problem, others)) nearest.push_back(near.index);
  return nearest;
}

std::optional<Config> TransferConfig(const Config& config, const graph::Workload& workload,
                                     const target::Target& target) {
  const std::unique_ptr<const schedule::Problem> problem = OpenFor(config, workload, target);
  if (problem == nullptr) return std::nullopt;
  const schedule::Space space = problem->MakeSpace();
  if (space.NumPoints() == 0 || space.knobs.size() != config.knobs.size()) return std::nullopt;
  Config transferred = config;
  for (size_t k = 0; k < space.knobs.size(); ++k) {
    if (space.knobs[k].name != config.knobs[k].first) return std::nullopt;
    transferred.knobs[k].second = ClosestIn(space.knobs[k].domain, config.knobs[k].second);
  }
  if (problem->Check(transferred) == RejectReason::kNone) return transferred;
  return Repair(*problem, space, target, transferred);
}

Result<std::vector<PriorConfig>> PriorConfigsFor(const graph::Workload& workload,
                                                 const target::Target& target,
                                                 std::span<const SimilarWorkload* const> nearest) {
  PriorRanking ranking(workload, target);
  MLC_TRY(ranking.Default());
  for (size_t i = 0; i < nearest.size(); ++i) ranking.Add(static_cast<int>(i), *nearest[i]);
  return std::move(ranking).BestFirst();
}

}  // namespace mlc::costmodel
