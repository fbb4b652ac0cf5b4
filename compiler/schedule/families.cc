// The one list of families for CPUs, and the choice between it and the one for GPUs.
#include <algorithm>
#include <array>
#include <memory>
#include <string>

#include "compiler/schedule/cpu/attention/attention.h"
#include "compiler/schedule/cpu/contraction/contraction.h"
#include "compiler/schedule/cpu/depthwise/depthwise.h"
#include "compiler/schedule/cpu/pointwise/pointwise.h"
#include "compiler/schedule/cpu/row_reduce/row_reduce.h"
#include "compiler/schedule/cpu/window/window.h"
#include "compiler/schedule/cpu/winograd/winograd.h"
#include "compiler/schedule/cuda/families.h"
#include "compiler/schedule/space/check_config.h"
#include "compiler/schedule/space/family.h"

namespace mlc::schedule {

namespace {

std::span<const Family* const> CpuFamilies() {
  static const ContractionFamily contraction;
  static const DepthwiseFamily depthwise;
  static const WinogradFamily winograd;
  static const AttentionFamily attention;
  static const WindowFamily window;
  static const PointwiseFamily pointwise;
  static const RowReduceFamily row_reduce;
  static const std::array<const Family*, 7> families = {
      &winograd, &depthwise, &contraction, &attention, &window, &row_reduce, &pointwise};
  return families;
}

std::span<const Family* const> FamiliesOf(const target::Target& target) {
  return target.is_cuda() ? CudaFamilies() : CpuFamilies();
}

bool IsAmong(std::span<const Family* const> families, const Family* family) {
  return std::find(families.begin(), families.end(), family) != families.end();
}

}  // namespace

std::span<const Family* const> Families() {
  static const std::vector<const Family*> all = [] {
    std::vector<const Family*> both(CpuFamilies().begin(), CpuFamilies().end());
    both.insert(both.end(), CudaFamilies().begin(), CudaFamilies().end());
    return both;
  }();
  return all;
}

const Family* FindFamily(std::string_view name) {
  for (const Family* family : Families()) {
    if (family->name() == name) return family;
  }
  return nullptr;
}

std::vector<const Family*> FamiliesFor(const graph::Workload& workload,
                                       const target::Target& target) {
  std::vector<const Family*> accepting;
  for (const Family* family : FamiliesOf(target)) {
    if (family->Accepts(workload, target)) accepting.push_back(family);
  }
  return accepting;
}

namespace {

// The workload opened by the config's family; an error says why the config cannot be lowered.
Result<std::unique_ptr<const Problem>> OpenFor(const graph::Workload& workload,
                                               const target::Target& target, const Config& config) {
  const Family* family = FindFamily(config.family);
  if (!family) {
    std::string known;
    for (const Family* f : Families()) {
      known += (known.empty() ? "" : ", ") + std::string(f->name());
    }
    return NotFound("no kernel family '" + config.family + "'; this build has " + known);
  }
  if (config.version != family->version()) {
    return FailedPrecondition("config is of " + config.family + " version " +
                              std::to_string(config.version) + ", this build has version " +
                              std::to_string(family->version()) + "; tune the workload again");
  }
  if (!IsAmong(FamiliesOf(target), family)) {
    return InvalidArgument("family " + config.family + " is not for " + target.ClassText());
  }
  if (!family->Accepts(workload, target)) {
    return InvalidArgument("family " + config.family + " has no kernel for " + workload.Summary());
  }
  std::unique_ptr<const Problem> problem = family->Open(workload, target);
  if (problem->MakeSpace().RankOf(config) < 0) {
    return InvalidArgument("config '" + config.ToText() + "' is not in the space of " +
                           workload.Summary());
  }
  const RejectReason reason = problem->Check(config);
  if (reason != RejectReason::kNone) {
    return InvalidArgument("config '" + config.ToText() +
                           "' is rejected: " + std::string(Explain(reason)));
  }
  return problem;
}

}  // namespace

Status CheckConfig(const graph::Workload& workload, const target::Target& target,
                   const Config& config) {
  return OpenFor(workload, target, config).status();
}

Result<LoweredKernel> LowerConfig(const graph::Workload& workload, const target::Target& target,
                                  const Config& config) {
  const std::unique_ptr<const Problem> problem = MLC_TRY(OpenFor(workload, target, config));
  return problem->Lower(config);
}

}  // namespace mlc::schedule
