#include "tests/bench/least_estimates.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <utility>

#include "compiler/schedule/cuda/tensor/role_plan.h"
#include "compiler/schedule/cuda/tensor/tensor_facts.h"
#include "compiler/schedule/cuda/tensor/warpgroup_plan.h"
#include "compiler/schedule/space/family.h"

namespace mlc::bench {

namespace {

using schedule::Config;

constexpr int kOfOneTile = 4;

// Clocks of a config of the family.
std::function<double(const Config&)> CyclesOf(const std::string& family,
                                              const graph::Workload& workload,
                                              const target::Target& target,
                                              const schedule::Problem& opened) {
  if (family == kImageFamily) {
    return [&](const Config& config) { return opened.Facts(config).cycles; };
  }
  std::optional<schedule::GpuContraction> found = schedule::FindGpuContractionOrFloat8(workload);
  if (!found) found = schedule::FindGpuContractionOrBytes(workload);
  const schedule::GpuContraction g = *found;
  if (family == kMatrixFamilies[2]) {
    const schedule::RoleProblem problem = schedule::RoleProblemOf(workload, g);
    return [problem, &target](const Config& config) {
      return RoleCycles(target, schedule::MakeRolePlan(problem, target, config));
    };
  }
  const bool fragments = family == kMatrixFamilies[0];
  return [g, &target, fragments](const Config& config) {
    return TensorCycles(
        g, target,
        fragments ? schedule::MakeTensorPlan(g, config) : schedule::MakeWarpgroupPlan(g, config));
  };
}

// What tells tiles apart: knobs.
std::vector<const char*> TileOf(const std::string& family) {
  if (family == kImageFamily) return {"across", "down", "over", "rows", "bn"};
  if (family == kMatrixFamilies[0]) return {"bm", "bn", "warps_m", "warps_n"};
  if (family == kMatrixFamilies[1]) return {"bm", "bn", "groups_m", "groups_n"};
  return {"bm", "bn", "groups", "alternate", "storers"};
}

}  // namespace

std::vector<std::string> LeastEstimates(const std::string& wanted, const graph::Workload& workload,
                                        const target::Target& target, size_t count) {
  std::istringstream parts(wanted);
  std::string family_name;
  std::getline(parts, family_name, ':');
  std::vector<std::pair<std::string, int64_t>> knobs;
  for (std::string knob; std::getline(parts, knob, ':');) {
    const size_t equals = std::min(knob.find('='), knob.size());
    char* end = nullptr;
    const int64_t value = std::strtoll(knob.c_str() + std::min(equals + 1, knob.size()), &end, 10);
    if (end == knob.c_str() + knob.size() && equals < knob.size()) {
      knobs.emplace_back(knob.substr(0, equals), value);
    }
  }
  const auto is_wanted = [&](const Config& config) {
    return std::all_of(knobs.begin(), knobs.end(),
                       [&](const auto& knob) { return config[knob.first] == knob.second; });
  };
  const schedule::Family& family = *schedule::FindFamily(family_name);
  if (!family.Accepts(workload, target)) return {};
  const std::unique_ptr<const schedule::Problem> problem = family.Open(workload, target);
  const schedule::Space space = problem->MakeSpace();
  const auto cycles_of = CyclesOf(family_name, workload, target, *problem);
  std::vector<std::pair<double, int64_t>> order;
  for (int64_t rank = 0; rank < space.NumPoints(); ++rank) {
    const Config config = space.At(rank);
    if (!is_wanted(config)) continue;
    if (problem->Check(config) != schedule::RejectReason::kNone) continue;
    order.emplace_back(cycles_of(config), rank);
  }
  std::sort(order.begin(), order.end());
  std::map<std::vector<int64_t>, int> of_tile;
  std::vector<std::string> texts;
  for (const auto& [cycles, rank] : order) {
    const Config config = space.At(rank);
    std::vector<int64_t> tile;
    for (const char* knob : TileOf(family_name)) tile.push_back(config[knob]);
    if (++of_tile[tile] <= kOfOneTile) texts.push_back(config.ToText());
    if (texts.size() == count) break;
  }
  return texts;
}

}  // namespace mlc::bench
