// Which kernel each task of a program gets: pinned by a lock file, the best of a log or server, a
// config transferred from a similar workload (see costmodel/transfer.h), or the default of its
// family. Thread-safe (no shared state).
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "client/compile/kernel_source.h"
#include "compiler/graph/program.h"
#include "compiler/package/library.h"
#include "compiler/package/lock_file.h"
#include "compiler/target/target.h"

namespace mlc::client {

// Origin of a default config: the log has neither a record nor a similar workload.
inline constexpr char kDefaultOrigin[] = "default";
// Origin of a transferred config: this, then the uid of the record that it comes from.
inline constexpr char kTransferOrigin[] = "transfer:";
// True if the choice was itself measured.
bool IsTuned(const package::Choice& choice);
bool IsTransferred(const package::Choice& choice);

enum class Transfer : uint8_t { kUse, kIgnore };
// User-supplied kernels (compiler/schedule/cuda/user_kernel/user_kernel.h).
enum class UserKernels : uint8_t { kUse, kIgnore };

// The best record of each task whose config this build can still generate (same family version,
// still legal) or user-supplied; confirmed times count more, see db/confirmed_best.h. Else a
// transferred config, whose expected time is an estimate, or the default. `source` may be null: all
// are defaults. For GPUs, a choice that newer ones could not run (instructions of one architecture
// alone, more on-chip memory than all have, user-supplied) gets a substitute by the same rule.
// UNIMPLEMENTED if no family accepts a task.
Result<std::vector<package::Choice>> ChooseFrom(const graph::Program& program,
                                                const target::Target& target, KernelSource* source,
                                                Transfer transfer,
                                                UserKernels user_kernels = UserKernels::kUse);

// Exactly what the lock file pins; a substitute that it lacks is the default. NOT_FOUND if it lacks
// a task, FAILED_PRECONDITION if it is for another class of target, or pins an unwanted kernel
// that the user supplied.
Result<std::vector<package::Choice>> ChooseFromLock(const graph::Program& program,
                                                    const target::Target& target,
                                                    const package::LockFile& lock,
                                                    UserKernels user_kernels = UserKernels::kUse);

package::LockFile LockOf(const graph::Program& program, const target::Target& target,
                         const std::vector<package::Choice>& choices);

}  // namespace mlc::client
