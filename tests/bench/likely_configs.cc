#include "tests/bench/likely_configs.h"

#include <algorithm>
#include <utility>

#include "costmodel/analytic.h"

namespace mlc::bench {

namespace {

constexpr int kMostDraws = 20'000;
constexpr size_t kFieldOfOne = 8;  // legal configs of which one is taken

}  // namespace

std::vector<schedule::Config> LikelyConfigs(const graph::Workload& workload,
                                            const target::Target& target, size_t count, Rng& rng) {
  std::vector<schedule::Config> configs;
  for (const schedule::Family* family : schedule::FamiliesFor(workload, target)) {
    const schedule::Space space = family->MakeSpace(workload, target);
    std::vector<std::pair<double, schedule::Config>> legal;
    for (int draws = 0; legal.size() < kFieldOfOne * count && draws < kMostDraws; ++draws) {
      auto config =
          space.At(static_cast<int64_t>(rng.Below(static_cast<uint64_t>(space.NumPoints()))));
      if (family->Check(workload, target, config) != schedule::RejectReason::kNone) continue;
      const auto facts = family->Facts(workload, target, config);
      const double ns = costmodel::EstimateKernel(facts, target).total_ns;
      legal.emplace_back(ns, std::move(config));
    }
    std::stable_sort(legal.begin(), legal.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (size_t i = 0; i < std::min(count, legal.size()); ++i) configs.push_back(legal[i].second);
  }
  return configs;
}

}  // namespace mlc::bench
