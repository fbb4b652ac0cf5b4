#include "client/choose_kernels.h"

#include <utility>

#include "compiler/schedule/family.h"

namespace mlc::client {

namespace {

// True if this build generates the record's kernel: an old version of a family is history.
bool CanGenerate(const db::Record& record, const graph::Workload& workload,
                 const target::Target& target) {
  const Result<schedule::Config> config = schedule::Config::Parse(record.config);
  if (!config.ok()) return false;
  const schedule::Family* family = schedule::FindFamily(config->family);
  return family != nullptr && family->version() == config->version &&
         family->Accepts(workload, target) &&
         family->Check(workload, target, *config) == schedule::RejectReason::kNone;
}

}  // namespace

Result<std::vector<package::Choice>> ChooseFromLog(const graph::Program& program,
                                                   const target::Target& target,
                                                   const db::TuningLog* log, const Guess& guess) {
  std::vector<package::Choice> choices;
  for (const graph::Task& task : program.tasks) {
    std::vector<db::Record> best;
    if (log != nullptr) {
      best = MLC_TRY(log->Best(
          task.workload.digest(), target.ClassText(), 1,
          [&](const db::Record& record) { return CanGenerate(record, task.workload, target); }));
    }
    package::Choice choice;
    if (best.empty()) {
      choice.config = MLC_TRY(guess(task.workload, target));
      choice.origin = kGuessed;
    } else {
      choice.config = MLC_TRY(schedule::Config::Parse(best[0].config));
      choice.origin = best[0].task_uid.ToText();
      choice.expected_ns = best[0].measurement.median_ns;
    }
    choices.push_back(std::move(choice));
  }
  return choices;
}

Result<std::vector<package::Choice>> ChooseFromLock(const graph::Program& program,
                                                    const target::Target& target,
                                                    const package::LockFile& lock) {
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
