// The families of all kinds of device, from the rows of compiler/backend.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compiler/backend/backend.h"
#include "compiler/ir/limit_loops.h"
#include "compiler/schedule/space/check_config.h"
#include "compiler/schedule/space/family.h"

namespace mlc::schedule {

namespace {

bool IsAmong(std::span<const Family* const> families, const Family* family) {
  return std::find(families.begin(), families.end(), family) != families.end();
}

}  // namespace

std::span<const Family* const> Families() {
  static const std::vector<const Family*> all = [] {
    std::vector<const Family*> every;
    for (const backend::Backend& row : backend::Backends()) {
      every.insert(every.end(), row.families().begin(), row.families().end());
    }
    return every;
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
  for (const Family* family : backend::BackendOf(target).families()) {
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
  if (!IsAmong(backend::BackendOf(target).families(), family)) {
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

Result<LoweredKernel> LowerLimited(const graph::Workload& workload, const target::Target& target,
                                   const Config& config, std::span<const int64_t> row_elements) {
  const std::unique_ptr<const Problem> problem = MLC_TRY(OpenFor(workload, target, config));
  const auto limit = [&](LoweredKernel lowered) {
    std::vector<int64_t> of_params;
    for (const Binding& binding : lowered.bindings) {
      const bool is_output = binding.kind == Binding::Kind::kOutput;
      of_params.push_back(is_output ? row_elements[static_cast<size_t>(binding.index)] : 0);
    }
    lowered.kernel = ir::LimitLoops(std::move(lowered.kernel), lowered.row_loops, of_params);
    return lowered;
  };
  LoweredKernel for_rows = limit(MLC_TRY(problem->LowerForRows(config)));
  if (for_rows.kernel.limit >= 0 ||
      std::ranges::none_of(for_rows.row_loops, &ir::RowLoop::needs_limit)) {
    return for_rows;
  }
  return limit(MLC_TRY(problem->Lower(config)));
}

}  // namespace mlc::schedule
