#include "client/compile/keep_winners.h"

#include <optional>
#include <string>
#include <utility>

#include "db/kept_best.h"

namespace mlc::client {
namespace {

// Of the kernel itself; 0: not known.
Result<double> TimeOf(const package::Choice& kept, const graph::Workload& workload,
                      KernelSource* source) {
  if (source == nullptr) return kept.expected_ns;
  const std::string text = kept.config.ToText();
  const std::optional<KnownKernel> known =
      MLC_TRY(source->Best(workload, [&](const std::string& config) { return config == text; }));
  return known ? known->median_ns : kept.expected_ns;
}

}  // namespace

Result<std::vector<package::Choice>> KeepWinners(const graph::Program& program,
                                                 const target::Target& target,
                                                 const package::LockFile& lock,
                                                 std::vector<package::Choice> choices,
                                                 KernelSource* source, UserKernels user_kernels) {
  if (lock.target_class != target.ClassText()) {
    return FailedPrecondition("--keep: the lock file is for '" + lock.target_class +
                              "', this build for '" + target.ClassText() +
                              "': pass --target with the lock file's, or build without --keep");
  }
  for (size_t i = 0; i < choices.size(); ++i) {
    const graph::Workload& workload = program.tasks[i].workload;
    const auto found = lock.choices.find(workload.digest());
    if (found == lock.choices.end()) continue;
    if (IsTuned(choices[i]) && found->second.config == choices[i].config) continue;
    package::Choice kept = found->second;
    if (!IsTuned(kept) || !CanGenerate(kept.config.ToText(), workload, target, user_kernels)) {
      continue;
    }
    kept.expected_ns = MLC_TRY(TimeOf(kept, workload, source));
    const bool is_beaten =
        IsTuned(choices[i]) && db::IsFasterBeyondDoubt(choices[i].expected_ns, kept.expected_ns);
    if (!is_beaten) choices[i] = std::move(kept);
  }
  return choices;
}

}  // namespace mlc::client
