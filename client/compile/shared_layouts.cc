#include "client/compile/shared_layouts.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>

#include "client/compile/choose_kernels.h"
#include "compiler/backend/backend.h"
#include "compiler/schedule/cuda/user_kernel/user_kernel.h"
#include "compiler/schedule/space/check_config.h"
#include "compiler/schedule/space/family.h"
#include "costmodel/transfer.h"

namespace mlc::client {

namespace {

// By the analytic model; none for a config of no family.
std::optional<double> EstimatedNs(const graph::Workload& workload, const target::Target& target,
                                  const schedule::Config& config) {
  const schedule::Family* family = schedule::FindFamily(config.family);
  if (family == nullptr || !family->Accepts(workload, target)) return std::nullopt;
  return backend::BackendOf(target)
      .estimate(family->Facts(workload, target, config), target)
      .total_ns;
}

}  // namespace

std::vector<SharedLayouts::Packed> SharedLayouts::PackedBy(const schedule::Config& config,
                                                           size_t task) const {
  std::vector<Packed> packed;
  if (schedule::IsUserKernel(config)) return packed;
  const Result<schedule::LoweredKernel> lowered =
      schedule::LowerConfig(program_->tasks[task].workload, target_, config);
  if (!lowered.ok()) return packed;  // the build says why
  for (const schedule::Preparation& preparation : lowered->preparations) {
    const Digest layout = DigestOf(preparation.kernel.ToText());
    for (const graph::Step& step : program_->steps) {
      if (static_cast<size_t>(step.task) != task) continue;
      std::string constant;
      for (const int operand : preparation.operands) {
        const graph::Placement& place = step.operands[static_cast<size_t>(operand)];
        constant += constants_[static_cast<size_t>(place.index)].ToText() + "+" +
                    std::to_string(place.byte_offset) + " ";
      }
      packed.push_back({DigestOf(constant), layout});
    }
  }
  return packed;
}

bool SharedLayouts::Fits(const schedule::Config& config, size_t task) const {
  const std::vector<Packed> all = PackedBy(config, task);
  return std::ranges::all_of(all, [&](const Packed& packed) {
    const auto known = layouts_.find(packed.constant);
    return known == layouts_.end() || known->second.contains(packed.layout);
  });
}

// The fastest record with a layout that is there.
Status SharedLayouts::ShareMeasured(size_t task, package::Choice& choice) {
  if (source_ == nullptr) return {};
  const graph::Workload& workload = program_->tasks[task].workload;
  const std::optional<KnownKernel> shared =
      MLC_TRY(source_->Best(workload, [&](const std::string& text) {
        const Result<schedule::Config> config = schedule::Config::Parse(text);
        return config.ok() && !schedule::IsUserKernel(*config) &&
               schedule::CheckConfig(workload, target_, *config).ok() && Fits(*config, task);
      }));
  if (!shared || shared->median_ns > kMostSlowerMeasured * choice.expected_ns) return {};
  choice.config = MLC_TRY(schedule::Config::Parse(shared->config));
  choice.origin = package::FromRecord{shared->record.ToText()};
  choice.expected_ns = shared->median_ns;
  return {};
}

// The config of an earlier size, for this workload.
void SharedLayouts::ShareEstimated(size_t task, package::Choice& choice) const {
  const graph::Workload& workload = program_->tasks[task].workload;
  const std::optional<double> own = EstimatedNs(workload, target_, choice.config);
  double best = own ? *own * kMostSlowerEstimated : 0;
  std::optional<schedule::Config> shared;
  for (const Packed& packed : PackedBy(choice.config, task)) {
    const auto users = users_.find(packed.constant);
    if (users == users_.end()) continue;
    for (const schedule::Config& user : users->second) {
      const auto config = costmodel::TransferConfig(user, workload, target_);
      if (!config || !Fits(*config, task)) continue;
      const std::optional<double> ns = EstimatedNs(workload, target_, *config);
      if (!ns || *ns > best) continue;
      best = *ns;
      shared = config;
    }
  }
  if (!shared) return;
  choice.config = *std::move(shared);
  choice.origin = package::FromDefault();
  choice.expected_ns = 0;
  choice.note.clear();
}

Status SharedLayouts::ShareTask(size_t task, package::Choice& choice) {
  if (!Fits(choice.config, task)) {
    if (IsTuned(choice)) {
      MLC_TRY(ShareMeasured(task, choice));
    } else {
      ShareEstimated(task, choice);
    }
  }
  for (const Packed& packed : PackedBy(choice.config, task)) {
    layouts_[packed.constant].insert(packed.layout);
    std::vector<schedule::Config>& users = users_[packed.constant];
    if (std::ranges::find(users, choice.config) == users.end()) users.push_back(choice.config);
  }
  return {};
}

Status SharedLayouts::Share(const graph::Program& program, std::vector<package::Choice>& choices) {
  program_ = &program;
  constants_.clear();
  for (const graph::TensorDataRef& data : program.constants) {
    constants_.push_back(DigestOf(std::span(data->bytes)));
  }
  for (size_t i = 0; i < choices.size(); ++i) MLC_TRY(ShareTask(i, choices[i]));
  return {};
}

}  // namespace mlc::client
