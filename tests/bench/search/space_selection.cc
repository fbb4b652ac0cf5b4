#include "tests/bench/search/space_selection.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "base/rng.h"
#include "compiler/schedule/space/family.h"
#include "costmodel/analytic.h"
#include "costmodel/default_config.h"

namespace mlc::bench {
namespace {

struct Legal {
  double estimate_ns = 0;
  int64_t rank = 0;
};

struct FamilySpace {
  schedule::Space space;
  std::vector<Legal> legal;  // by estimate
};

FamilySpace Enumerate(const schedule::Family& family, const graph::Workload& workload,
                      const target::Target& target) {
  const std::unique_ptr<const schedule::Problem> problem = family.Open(workload, target);
  FamilySpace found{problem->MakeSpace(), {}};
  for (int64_t rank = 0; rank < found.space.NumPoints(); ++rank) {
    const schedule::Config config = found.space.At(rank);
    if (problem->Check(config) != schedule::RejectReason::kNone) continue;
    const double ns = costmodel::EstimateKernel(problem->Facts(config), target).total_ns;
    found.legal.push_back({ns, rank});
  }
  std::stable_sort(found.legal.begin(), found.legal.end(),
                   [](const Legal& a, const Legal& b) { return a.estimate_ns < b.estimate_ns; });
  return found;
}

// Of each family in turn its next best config, while it is within the bound.
std::vector<std::string> BestInTurns(const std::vector<FamilySpace>& families, double bound_ns,
                                     size_t most) {
  std::vector<std::string> best;
  bool any = true;
  for (size_t place = 0; any && best.size() < most; ++place) {
    any = false;
    for (const FamilySpace& family : families) {
      if (place >= family.legal.size() || family.legal[place].estimate_ns > bound_ns) continue;
      any = true;
      if (best.size() < most) best.push_back(family.space.At(family.legal[place].rank).ToText());
    }
  }
  return best;
}

// Families by their numbers of legal configs.
std::vector<std::string> RandomOnes(const std::vector<FamilySpace>& families, int64_t legal,
                                    const std::set<std::string>& taken, size_t count, Rng& rng) {
  std::set<std::string> seen = taken;
  std::vector<std::string> random;
  const auto all = static_cast<size_t>(legal);
  for (size_t draw = 0; draw < 20 * count && random.size() + taken.size() < all; ++draw) {
    if (random.size() == count) break;
    auto place = static_cast<int64_t>(rng.Below(all));
    size_t family = 0;
    while (place >= std::ssize(families[family].legal)) {
      place -= std::ssize(families[family++].legal);
    }
    const FamilySpace& from = families[family];
    std::string text = from.space.At(from.legal[static_cast<size_t>(place)].rank).ToText();
    if (seen.insert(text).second) random.push_back(std::move(text));
  }
  return random;
}

}  // namespace

Selection SelectConfigs(const graph::Workload& workload, const target::Target& target,
                        const SelectionSizes& sizes, uint64_t seed) {
  Selection selection;
  std::vector<FamilySpace> families;
  double least_ns = 0;
  for (const schedule::Family* family : schedule::FamiliesFor(workload, target)) {
    families.push_back(Enumerate(*family, workload, target));
    const std::vector<Legal>& legal = families.back().legal;
    selection.legal += std::ssize(legal);
    if (legal.empty()) continue;
    const double ns = legal.front().estimate_ns;
    least_ns = least_ns == 0 ? ns : std::min(least_ns, ns);
  }
  const double bound_ns = sizes.factor * least_ns;
  for (const FamilySpace& family : families) {
    selection.pruned +=
        std::count_if(family.legal.begin(), family.legal.end(),
                      [&](const Legal& one) { return one.estimate_ns <= bound_ns; });
  }
  std::set<std::string> taken;
  for (const schedule::Config& config : costmodel::DefaultConfigs(workload, target)) {
    if (taken.insert(config.ToText()).second) selection.configs.push_back(config.ToText());
  }
  std::vector<std::string> best = BestInTurns(families, bound_ns, sizes.best);
  std::set<std::string> avoided = taken;
  avoided.insert(best.begin(), best.end());
  Rng rng(seed);
  const std::vector<std::string> random =
      RandomOnes(families, selection.legal, avoided, sizes.random, rng);
  const size_t total = best.size() + random.size();
  for (size_t i = 0, of_best = 0, of_random = 0; i < total; ++i) {
    const bool is_random = of_random * total < i * random.size() || of_best == best.size();
    const std::string& text =
        is_random && of_random < random.size() ? random[of_random++] : best[of_best++];
    if (taken.insert(text).second) selection.configs.push_back(text);
  }
  return selection;
}

}  // namespace mlc::bench
