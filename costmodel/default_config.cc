#include "costmodel/default_config.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "compiler/schedule/space/family.h"
#include "costmodel/analytic.h"

namespace mlc::costmodel {
namespace {

// Of the preferred family's estimate, what another's has to stay below. On CPUs the preferred
// one was faster wherever the model predicted less than this; on an H200 the model's best one was.
double MarginOf(const target::Target& target) { return target.is_cuda() ? 1 : 0.75; }

}  // namespace

std::vector<schedule::Config> DefaultConfigs(const graph::Workload& workload,
                                             const target::Target& target) {
  const target::Target any = target.WithoutPeaks();
  std::vector<schedule::Config> configs;
  double bar = 0;
  size_t own = 0;
  for (const schedule::Family* family : schedule::FamiliesFor(workload, any)) {
    const std::unique_ptr<const schedule::Problem> problem = family->Open(workload, any);
    configs.push_back(problem->Default());
    const double ns = EstimateKernel(problem->Facts(configs.back()), any).total_ns;
    if (configs.size() == 1) bar = MarginOf(any) * ns;
    if (ns >= bar) continue;
    bar = ns;
    own = configs.size() - 1;
  }
  const auto first = configs.begin() + static_cast<std::ptrdiff_t>(own);
  if (own > 0) std::rotate(configs.begin(), first, first + 1);
  return configs;
}

Result<schedule::Config> DefaultConfig(const graph::Workload& workload,
                                       const target::Target& target) {
  std::vector<schedule::Config> configs = DefaultConfigs(workload, target);
  if (configs.empty()) return Unimplemented("no kernel for '" + workload.Summary() + "'");
  return std::move(configs.front());
}

}  // namespace mlc::costmodel
