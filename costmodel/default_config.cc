#include "costmodel/default_config.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "compiler/backend/backend.h"
#include "compiler/schedule/space/family.h"
#include "costmodel/analytic.h"

namespace mlc::costmodel {

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
    if (configs.size() == 1) bar = backend::BackendOf(any).default_margin * ns;
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
  if (configs.empty()) {
    return Unimplemented("no kernel for '" + workload.Summary() +
                         "' on this target: compile for another one, or end the model before it");
  }
  return std::move(configs.front());
}

}  // namespace mlc::costmodel
