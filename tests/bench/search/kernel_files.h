// Kernels with tunable parameters in files of the T1 format, for benchmarks. Pure but for reading.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/schedule/cuda/user_kernel/tuned_kernel.h"

namespace mlc::bench {

struct KernelOfFile {
  schedule::TunedKernel kernel;
  std::string workload;  // text
};

// INVALID_ARGUMENT or NOT_FOUND for a file that is no kernel; what it names lies beside it.
Result<KernelOfFile> OpenKernelFile(const std::string& path);

// Texts of all configs that its conditions allow, in a fixed order that is as good as random: any
// beginning of it is a sample.
std::vector<std::string> AllConfigs(const schedule::TunedKernel& kernel);

}  // namespace mlc::bench
