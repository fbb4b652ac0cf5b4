// User-supplied kernels, as configs:
//
//   user_kernel/1 blocks=4096 threads=256 block_bytes=0 entry=scale
//   source=eJxLzs8tKEotLlbIS8xNVa...
//
// Logs, leases and lock files therefore store them like other configs. Version 2 is one config of a
// kernel with tunable parameters (tuned_kernel.h). They belong to no family: no space contains
// them, no search proposes them, they are not transferred to other shapes, and no model learns from
// their times. Only BuildKernel and the package compile them, and only if that is allowed.
//
// The function takes the workload's operands in order, then its outputs, as pointers aligned to 16
// bytes, in the layouts of the workload, and nothing else: no scratch. Thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/schedule/kernel_spec/kernel_spec.h"
#include "compiler/schedule/space/family.h"
#include "compiler/target/launch.h"

namespace mlc::schedule {

struct UserKernel {
  std::string entry;        // a function extern "C" __global__ of the source
  std::string source;       // CUDA C++ in UTF-8; nothing can be included
  target::Dim3 grid = 1;    // in blocks
  target::Dim3 block = 32;  // in threads
  int64_t block_bytes = 0;  // dynamic shared memory of one block
  // C for a CPU only of version 2: the function `entry`_p0 of runtime/abi.h, a block an iteration.
  KernelLanguage language = KernelLanguage::kCuda;
  std::vector<std::string> options = {};  // of the C compiler

  // A config of version 1. INVALID_ARGUMENT for C, for errors of PackSource, for an entry that is
  // not a name or not in the source, and for a launch that no device supports.
  Result<Config> ToConfig() const;
  // INVALID_ARGUMENT for another form, or if ToConfig rejects the kernel; FAILED_PRECONDITION for
  // an unknown version.
  static Result<UserKernel> FromConfig(const Config& config);
  friend bool operator==(const UserKernel&, const UserKernel&) = default;
};

// "user_kernel/1" and "user_kernel/2", with which workers and builds report that they accept such
// kernels.
std::vector<std::string> UserKernelNames();
// The name of a config's text.
std::string UserKernelName(std::string_view config);
bool IsUserKernel(const Config& config);
// The same for a config's text; cheap.
bool IsUserKernel(std::string_view config);
// INVALID_ARGUMENT if the target does not run the language, or if a block needs more shared memory
// than it has.
Status CheckFits(const UserKernel& user_kernel, const target::Target& target);
// The bindings of the parameters of such a kernel.
std::vector<Binding> UserKernelBindings(const graph::Workload& workload);
// A config's text for tables: without the source.
std::string BriefConfig(std::string_view config);

}  // namespace mlc::schedule
