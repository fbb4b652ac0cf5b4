// User-supplied kernels, as configs:
//
//   user_kernel/1 blocks=4096 threads=256 block_bytes=0 entry=scale
//   source=eJxLzs8tKEotLlbIS8xNVa...
//
// so that a log, a lease and a lock file hold them as they hold any config. What older builds do
// not take, more extents than one or a longer source, is of version 2, which names all extents.
// They are of no family: no space has them, no search proposes them, they are not transferred to
// other shapes, and no model learns from their times. Only BuildKernel and the package make code of
// them, and only where allowed.
//
// The function takes the workload's operands in order, then its outputs, as pointers aligned to 16
// bytes, in the layouts of the workload, and nothing else: no scratch. Thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/schedule/space/family.h"
#include "compiler/target/launch.h"

namespace mlc::schedule {

struct UserKernel {
  std::string entry;        // a function extern "C" __global__ of the source
  std::string source;       // CUDA C++ in UTF-8; nothing can be included
  target::Dim3 grid = 1;    // in blocks
  target::Dim3 block = 32;  // in threads
  int64_t block_bytes = 0;  // dynamic shared memory of one block

  // INVALID_ARGUMENT with what is wrong: of PackSource, a name that is none or that the source has
  // not, a launch that no device takes.
  Result<Config> ToConfig() const;
  // INVALID_ARGUMENT for another form, or what ToConfig refuses; FAILED_PRECONDITION for a version
  // unknown here.
  static Result<UserKernel> FromConfig(const Config& config);
  friend bool operator==(const UserKernel&, const UserKernel&) = default;
};

// "user_kernel/1": how workers and builds say that they take such kernels.
std::string UserKernelName();
// The same of a config's text, which may be of another version.
std::string UserKernelName(std::string_view config);
bool IsUserKernel(const Config& config);
// Of a config's text; cheap.
bool IsUserKernel(std::string_view config);
// INVALID_ARGUMENT if the target is none for CUDA, or a block takes more memory than it has.
Status CheckFits(const UserKernel& user_kernel, const target::Target& target);
// What the parameters of such a kernel are.
std::vector<Binding> UserKernelBindings(const graph::Workload& workload);
// A config's text for people's tables: without the letters of a source.
std::string BriefConfig(std::string_view config);

}  // namespace mlc::schedule
