#include "client/compile/choose_kernels.h"

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "compiler/backend/backend.h"
#include "compiler/package/origin.h"
#include "compiler/schedule/cuda/user_kernel/user_kernel.h"
#include "compiler/schedule/space/check_config.h"
#include "compiler/schedule/space/family.h"
#include "costmodel/transfer.h"

namespace mlc::client {

namespace {

// Where kernels of a task come from. `source` may be null.
struct Sources {
  KernelSource* source;
  Transfer transfer;
  UserKernels user_kernels;
};

// The best record of the workload itself, or nothing.
Result<std::optional<package::Choice>> Measured(const graph::Workload& workload,
                                                const target::Target& target, KernelSource& source,
                                                UserKernels user_kernels) {
  const std::optional<KnownKernel> best =
      MLC_TRY(source.Best(workload, [&](const std::string& config) {
        return CanGenerate(config, workload, target, user_kernels);
      }));
  if (!best) return std::optional<package::Choice>();
  package::Choice choice;
  choice.config = MLC_TRY(schedule::Config::Parse(best->config));
  choice.origin = package::FromRecord{best->record.ToText()};
  choice.expected_ns = best->median_ns;
  return std::optional(std::move(choice));
}

// A transferred config or the default.
Result<package::Choice> PriorChoice(const graph::Workload& workload, const target::Target& target,
                                    const std::vector<KnownSimilar>& near) {
  std::vector<const costmodel::SimilarWorkload*> nearest;
  for (const KnownSimilar& known : near) nearest.push_back(known.similar);
  const std::vector<costmodel::PriorConfig> priors =
      MLC_TRY(costmodel::PriorConfigsFor(workload, target, nearest));
  const costmodel::PriorConfig& prior = priors[0];
  package::Choice choice{prior.config, package::FromDefault(), 0, ""};
  if (prior.similar < 0) return choice;
  const KnownSimilar& similar = near[static_cast<size_t>(prior.similar)];
  choice.origin = package::FromSimilar{(*similar.records)[prior.place].ToText()};
  choice.expected_ns = prior.expected_ns;
  choice.note = similar.similar->workload.Summary();
  return choice;
}

Result<package::Choice> ChooseOne(const graph::Workload& workload, const target::Target& target,
                                  const Sources& from) {
  if (from.source == nullptr) return PriorChoice(workload, target, {});
  std::optional<package::Choice> choice =
      MLC_TRY(Measured(workload, target, *from.source, from.user_kernels));
  if (choice) return *std::move(choice);
  std::vector<KnownSimilar> similar_workloads;
  if (from.transfer == Transfer::kUse) similar_workloads = MLC_TRY(from.source->Near(workload));
  return PriorChoice(workload, target, similar_workloads);
}

// What devices newer than the target run instead of `config`; nothing if they can run it, or none
// of what is known. A user-supplied kernel was tried on the target alone.
Result<std::optional<schedule::Config>> SubstituteFor(const schedule::Config& config,
                                                      const graph::Workload& workload,
                                                      const target::Target& target, Sources from) {
  from.user_kernels = UserKernels::kIgnore;
  const bool is_user_kernel = schedule::IsUserKernel(config);
  for (const target::Target& newer : backend::BackendOf(target).other_devices(target)) {
    if (!is_user_kernel && schedule::CheckConfig(workload, newer, config).ok()) break;
    if (schedule::FamiliesFor(workload, newer).empty()) continue;
    return std::optional(MLC_TRY(ChooseOne(workload, newer, from)).config);
  }
  return std::optional<schedule::Config>();
}

}  // namespace

bool CanGenerate(const std::string& text, const graph::Workload& workload,
                 const target::Target& target, UserKernels user_kernels) {
  const Result<schedule::Config> config = schedule::Config::Parse(text);
  if (!config.ok()) return false;
  if (schedule::IsUserKernel(*config)) {
    const Result<schedule::UserKernel> user_kernel = schedule::UserKernel::FromConfig(*config);
    return user_kernels == UserKernels::kUse && user_kernel.ok() &&
           user_kernel->language == schedule::KernelLanguage::kCuda &&
           schedule::CheckFits(*user_kernel, target).ok();
  }
  return schedule::CheckConfig(workload, target, *config).ok();
}

bool IsTuned(const package::Choice& choice) {
  return std::holds_alternative<package::FromRecord>(choice.origin);
}

bool IsTransferred(const package::Choice& choice) {
  return std::holds_alternative<package::FromSimilar>(choice.origin);
}

Result<std::vector<package::Choice>> ChooseFrom(const graph::Program& program,
                                                const target::Target& target, KernelSource* source,
                                                Transfer transfer, UserKernels user_kernels) {
  const Sources from{source, transfer, user_kernels};
  std::vector<package::Choice> choices;
  for (const graph::Task& task : program.tasks) {
    package::Choice choice = MLC_TRY(ChooseOne(task.workload, target, from));
    choice.substitute = MLC_TRY(SubstituteFor(choice.config, task.workload, target, from));
    choices.push_back(std::move(choice));
  }
  return choices;
}

Result<std::optional<schedule::Config>> DefaultSubstitute(const schedule::Config& config,
                                                          const graph::Workload& workload,
                                                          const target::Target& target) {
  return SubstituteFor(config, workload, target,
                       {nullptr, Transfer::kIgnore, UserKernels::kIgnore});
}

Result<std::vector<package::Choice>> ChooseFromLock(const graph::Program& program,
                                                    const target::Target& target,
                                                    const package::LockFile& lock,
                                                    UserKernels user_kernels) {
  if (lock.target_class != target.ClassText()) {
    return FailedPrecondition("the lock file is for '" + lock.target_class + "', this build for '" +
                              target.ClassText() +
                              "': pass --target with the lock file's, or lock again");
  }
  std::vector<package::Choice> choices;
  for (const graph::Task& task : program.tasks) {
    const auto pinned = lock.choices.find(task.workload.digest());
    if (pinned == lock.choices.end()) {
      return NotFound("the lock file does not pin '" + task.workload.Summary() +
                      "': it was made for another model, --precision or version; lock again with "
                      "--lock");
    }
    if (user_kernels == UserKernels::kIgnore && schedule::IsUserKernel(pinned->second.config)) {
      return FailedPrecondition("the lock file pins a user-supplied kernel for '" +
                                task.workload.Summary() +
                                "': allow it with --user-kernels=on, or lock again");
    }
    choices.push_back(pinned->second);
  }
  return choices;
}

package::LockFile LockOf(const graph::Program& program, const target::Target& target,
                         const std::vector<package::Choice>& choices) {
  package::LockFile lock;
  lock.target_class = target.ClassText();
  for (size_t i = 0; i < choices.size(); ++i) {
    lock.choices[program.tasks[i].workload.digest()] = choices[i];
  }
  return lock;
}

}  // namespace mlc::client
