// The kernels of an earlier build stay, unless a log knows faster ones beyond doubt. So a model
// that is tuned again and built again changes only where that is worth it. Thread-safe (no shared
// state).
#pragma once

#include <vector>

#include "base/status.h"
#include "client/compile/choose_kernels.h"
#include "client/compile/kernel_source.h"
#include "compiler/graph/program.h"
#include "compiler/package/library.h"
#include "compiler/package/lock_file.h"
#include "compiler/target/target.h"

namespace mlc::client {

// `choices`: what ChooseFrom took from `source`, which may be null. Replaces each by the kernel
// that `lock` has for the task if this build still generates that one and the choice is not faster
// beyond doubt (db/kept_best.h). The kept one's time is the newest of the source, else that of the
// lock. FAILED_PRECONDITION if the lock file is for another target class.
Result<std::vector<package::Choice>> KeepWinners(const graph::Program& program,
                                                 const target::Target& target,
                                                 const package::LockFile& lock,
                                                 std::vector<package::Choice> choices,
                                                 KernelSource* source,
                                                 UserKernels user_kernels = UserKernels::kUse);

}  // namespace mlc::client
