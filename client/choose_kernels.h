// Which kernel each task of a program gets: pinned by a lock file, the best of the log, or a guess
// without measurement. Thread-safe (no shared state).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/base/status.h"
#include "compiler/graph/program.h"
#include "compiler/package/library.h"
#include "compiler/package/lock_file.h"
#include "compiler/target/target.h"
#include "db/tuning_log.h"

namespace mlc::client {

// Origin of a choice that no measurement stands behind.
inline constexpr char kGuessed[] = "guess";

// The config to use for a workload that the log does not know.
using Guess =
    std::function<Result<schedule::Config>(const graph::Workload&, const target::Target&)>;

// The fastest record of each task whose config this build can still generate (same family version,
// still legal); a guess for the others. `log` may be null: all are guesses.
Result<std::vector<package::Choice>> ChooseFromLog(const graph::Program& program,
                                                   const target::Target& target,
                                                   const db::TuningLog* log, const Guess& guess);

// Exactly what the lock file pins. NOT_FOUND if it lacks a task, FAILED_PRECONDITION if it is for
// another class of target.
Result<std::vector<package::Choice>> ChooseFromLock(const graph::Program& program,
                                                    const target::Target& target,
                                                    const package::LockFile& lock);

package::LockFile LockOf(const graph::Program& program, const target::Target& target,
                         const std::vector<package::Choice>& choices);

}  // namespace mlc::client
