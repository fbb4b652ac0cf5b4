#include "client/compile/shared_layouts.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

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

// The family with its layout knobs as in `user`; empty if it has none, or others.
std::string LayoutOf(const schedule::Family& family, const schedule::Config& user) {
  std::string text;
  for (const std::string_view name : family.layout_knobs()) {
    const auto knob = std::ranges::find(user.knobs, name, &std::pair<std::string, int64_t>::first);
    if (knob == user.knobs.end()) return "";
    text += " " + knob->first + "=" + std::to_string(knob->second);
  }
  return text.empty() ? "" : std::string(family.name()) + text;
}

// The default among the configs with the layout knobs of `user`. REQUIRES: it has them.
std::optional<schedule::Config> DefaultLike(const schedule::Config& user,
                                            const schedule::Family& family,
                                            const graph::Workload& workload,
                                            const target::Target& target) {
  const std::unique_ptr<const schedule::Problem> problem = family.Open(workload, target);
  schedule::Space part = problem->MakeSpace();
  for (const std::string_view name : family.layout_knobs()) {
    const auto knob = std::ranges::find(part.knobs, name, &schedule::Knob::name);
    const int64_t wanted = user[name];
    if (knob == part.knobs.end() || std::ranges::find(knob->domain, wanted) == knob->domain.end()) {
      return std::nullopt;
    }
    knob->domain = {wanted};
  }
  schedule::Config config = problem->DefaultIn(part);
  if (problem->Check(config) != schedule::RejectReason::kNone) return std::nullopt;
  return config;
}

}  // namespace

std::vector<SharedLayouts::Packed> SharedLayouts::PackedBy(const schedule::Config& config,
                                                           const Place& place) const {
  std::vector<Packed> packed;
  if (schedule::IsUserKernel(config)) return packed;
  const Result<schedule::LoweredKernel> lowered =
      schedule::LowerConfig(program_->tasks[place.task].workload, place.target, config);
  if (!lowered.ok()) return packed;  // the build says why
  for (const schedule::Preparation& preparation : lowered->preparations) {
    const Digest layout = DigestOf(preparation.kernel.ToText());
    for (const graph::Step& step : program_->steps) {
      if (static_cast<size_t>(step.task) != place.task) continue;
      std::string constant;
      for (const int operand : preparation.operands) {
        const graph::Placement& from = step.operands[static_cast<size_t>(operand)];
        constant += constants_[static_cast<size_t>(from.index)].ToText() + "+" +
                    std::to_string(from.byte_offset) + " ";
      }
      packed.push_back({DigestOf(constant), layout});
    }
  }
  return packed;
}

bool SharedLayouts::Fits(const schedule::Config& config, const Place& place) const {
  const std::vector<Packed> all = PackedBy(config, place);
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
               schedule::CheckConfig(workload, target_, *config).ok() &&
               Fits(*config, {task, target_});
      }));
  if (!shared || shared->median_ns > kMostSlowerMeasured * choice.expected_ns) return {};
  choice.config = MLC_TRY(schedule::Config::Parse(shared->config));
  choice.origin = package::FromRecord{shared->record.ToText()};
  choice.expected_ns = shared->median_ns;
  return {};
}

std::vector<schedule::Config> SharedLayouts::Similar(const std::vector<Packed>& packed,
                                                     const Place& place) const {
  const graph::Workload& workload = program_->tasks[place.task].workload;
  std::vector<schedule::Config> similar;
  std::set<std::string> seen;
  for (const Packed& one : packed) {
    const auto users = users_.find(one.constant);
    if (users == users_.end()) continue;
    for (const schedule::Config& user : users->second) {
      if (auto config = costmodel::TransferConfig(user, workload, place.target)) {
        similar.push_back(*std::move(config));
      }
      for (const schedule::Family* family : schedule::FamiliesFor(workload, place.target)) {
        const std::string layout = LayoutOf(*family, user);
        if (layout.empty() || !seen.insert(layout).second) continue;
        if (auto config = DefaultLike(user, *family, workload, place.target)) {
          similar.push_back(*std::move(config));
        }
      }
    }
  }
  return similar;
}

double SharedLayouts::MostSlower(const std::vector<Packed>& packed) const {
  size_t layouts = 0;
  for (const Packed& one : packed) {
    const auto known = layouts_.find(one.constant);
    if (known != layouts_.end()) layouts = std::max(layouts, known->second.size());
  }
  const bool bounded = !backend::BackendOf(target_).limits_rows && layouts >= 2;
  return bounded ? kMostSlowerThird : kMostSlowerEstimated;
}

std::optional<schedule::Config> SharedLayouts::Estimated(const schedule::Config& config,
                                                         const Place& place) const {
  const graph::Workload& workload = program_->tasks[place.task].workload;
  const std::optional<double> own = EstimatedNs(workload, place.target, config);
  if (!own) return std::nullopt;
  const std::vector<Packed> packed = PackedBy(config, place);
  const double most = *own * MostSlower(packed);
  std::vector<std::pair<double, schedule::Config>> similar;
  for (schedule::Config& other : Similar(packed, place)) {
    const std::optional<double> ns = EstimatedNs(workload, place.target, other);
    if (ns && *ns <= most) similar.emplace_back(*ns, std::move(other));
  }
  std::ranges::stable_sort(similar, {}, &std::pair<double, schedule::Config>::first);
  // To lower a kernel takes longer than to estimate it.
  for (auto& [ns, other] : similar) {
    if (Fits(other, place)) return std::move(other);
  }
  return std::nullopt;
}

void SharedLayouts::ShareEstimated(size_t task, package::Choice& choice) const {
  std::optional<schedule::Config> shared = Estimated(choice.config, {task, target_});
  if (!shared) return;
  choice.config = *std::move(shared);
  choice.origin = package::FromDefault();
  choice.expected_ns = 0;
  choice.note.clear();
}

void SharedLayouts::Remember(const schedule::Config& config, const Place& place) {
  for (const Packed& packed : PackedBy(config, place)) {
    layouts_[packed.constant].insert(packed.layout);
    std::vector<schedule::Config>& users = users_[packed.constant];
    if (std::ranges::find(users, config) == users.end()) users.push_back(config);
  }
}

// Another kernel may need a substitute, or none.
Status SharedLayouts::ShareSubstitute(size_t task, bool changed, package::Choice& choice) {
  const graph::Workload& workload = program_->tasks[task].workload;
  if (changed) {
    std::optional<schedule::Config> needed =
        MLC_TRY(DefaultSubstitute(choice.config, workload, target_));
    if (!needed || !choice.substitute) choice.substitute = std::move(needed);
  }
  if (!choice.substitute) return {};
  for (const target::Target& newer : backend::BackendOf(target_).other_devices(target_)) {
    if (!schedule::CheckConfig(workload, newer, *choice.substitute).ok()) continue;
    const Place place{task, newer};
    if (!IsTuned(choice) && !Fits(*choice.substitute, place)) {
      std::optional<schedule::Config> shared = Estimated(*choice.substitute, place);
      if (shared) choice.substitute = std::move(shared);
    }
    Remember(*choice.substitute, place);
    break;
  }
  return {};
}

Status SharedLayouts::ShareTask(size_t task, package::Choice& choice) {
  const Place place{task, target_};
  const schedule::Config own = choice.config;
  if (!Fits(choice.config, place)) {
    if (IsTuned(choice)) {
      MLC_TRY(ShareMeasured(task, choice));
    } else {
      ShareEstimated(task, choice);
    }
  }
  Remember(choice.config, place);
  return ShareSubstitute(task, choice.config != own, choice);
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
