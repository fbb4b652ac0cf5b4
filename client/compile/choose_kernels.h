// Chooses the kernel of each task of a program: the one that a lock file pins, the best of a log or
// server, a config transferred from a similar workload (costmodel/transfer.h), or the default of
// its family. Thread-safe (no shared state).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "client/compile/kernel_source.h"
#include "compiler/graph/program.h"
#include "compiler/package/library.h"
#include "compiler/package/lock_file.h"
#include "compiler/target/target.h"

namespace mlc::client {

// True if the chosen config itself was measured.
bool IsTuned(const package::Choice& choice);
bool IsTransferred(const package::Choice& choice);

enum class Transfer : uint8_t { kUse, kIgnore };
// User-supplied kernels (compiler/schedule/cuda/user_kernel/user_kernel.h).
enum class UserKernels : uint8_t { kUse, kIgnore };

// True if this build generates the kernel of a config's text: an old version of a family is
// history.
bool CanGenerate(const std::string& text, const graph::Workload& workload,
                 const target::Target& target, UserKernels user_kernels);

// Chooses for each task the best record whose config this build can generate (same family version,
// still legal) or that is user-supplied; db/confirmed_best.h says how confirmed times count.
// Without one, it takes a transferred config, whose time is an estimate, or the default. If
// `source` is null, all choices are defaults. On GPUs, a kernel that newer GPUs could not run
// (instructions of one architecture, more shared memory than all have, user-supplied) also gets a
// substitute, chosen by the same rule. UNIMPLEMENTED if no family accepts a task.
Result<std::vector<package::Choice>> ChooseFrom(const graph::Program& program,
                                                const target::Target& target, KernelSource* source,
                                                Transfer transfer,
                                                UserKernels user_kernels = UserKernels::kUse);

// The default substitute of a config, if newer GPUs cannot run it.
Result<std::optional<schedule::Config>> DefaultSubstitute(const schedule::Config& config,
                                                          const graph::Workload& workload,
                                                          const target::Target& target);

// Takes exactly the configs that the lock file pins; if it lacks a substitute, the default is
// taken. NOT_FOUND if it lacks a task; FAILED_PRECONDITION if it is for another target class, or
// pins a user-supplied kernel and `user_kernels` is kIgnore.
Result<std::vector<package::Choice>> ChooseFromLock(const graph::Program& program,
                                                    const target::Target& target,
                                                    const package::LockFile& lock,
                                                    UserKernels user_kernels = UserKernels::kUse);

package::LockFile LockOf(const graph::Program& program, const target::Target& target,
                         const std::vector<package::Choice>& choices);

}  // namespace mlc::client
