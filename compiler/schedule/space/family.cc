#include "compiler/schedule/space/family.h"

#include "base/check.h"

namespace mlc::schedule {
namespace {

std::unique_ptr<const Problem> Opened(const Family& family, const graph::Workload& workload,
                                      const target::Target& target) {
  std::unique_ptr<const Problem> problem = family.Open(workload, target);
  MLC_CHECK(problem != nullptr) << family.name() << " does not accept the workload";
  return problem;
}

}  // namespace

Space Family::MakeSpace(const graph::Workload& workload, const target::Target& target) const {
  return Opened(*this, workload, target)->MakeSpace();
}

RejectReason Family::Check(const graph::Workload& workload, const target::Target& target,
                           const Config& config) const {
  const std::unique_ptr<const Problem> problem = Open(workload, target);
  return problem != nullptr ? problem->Check(config) : RejectReason::kUnsupported;
}

KernelFacts Family::Facts(const graph::Workload& workload, const target::Target& target,
                          const Config& config) const {
  return Opened(*this, workload, target)->Facts(config);
}

Config Family::Default(const graph::Workload& workload, const target::Target& target) const {
  return Opened(*this, workload, target)->Default();
}

Result<LoweredKernel> Family::Lower(const graph::Workload& workload, const target::Target& target,
                                    const Config& config) const {
  return Opened(*this, workload, target)->Lower(config);
}

}  // namespace mlc::schedule
