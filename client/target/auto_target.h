// Resolves `--target auto`: the machine's GPU if it can do the work, else its CPU; with records or
// workers, their class. The choice includes a reason to print. Thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "compiler/target/target.h"

namespace mlc::client {

inline constexpr std::string_view kAutoTarget = "auto";

// Tuning times kernels, which needs CUPTI on a GPU. Compiling needs only NVRTC.
enum class Work { kTune, kCompile };

struct AutoTarget {
  target::Target target;
  std::string text;    // as --target takes it: "cuda", "cpu" or the target's text
  std::string reason;  // "NVIDIA H100, NVRTC 13.0, CUPTI found"

  // "target: cuda (NVIDIA H100, NVRTC 13.0, CUPTI found)"
  std::string Line() const { return "target: " + text + " (" + reason + ")"; }
};

// What this machine offers, queried once. A child process opens the driver and the CUDA libraries.
struct Machine {
  target::Target cpu;
  Result<target::Target> gpu;  // GPU 0, or why there is none
  std::string gpu_name;
  std::string nvrtc;          // its version; empty: not found
  std::string nvrtc_failure;  // why
  std::string cupti;          // the file; empty: not found
};
Machine LookAtMachine(int threads, const std::string& cuda_home);

// Returns the GPU if it is present with the CUDA libraries for the work, else the CPU.
AutoTarget ChooseForMachine(const Machine& machine, Work work);

// The target of a model with records: the machine's GPU, then its CPU, if the records are of its
// class; else the only class there is; else as ChooseForMachine. `texts` are targets or classes. It
// ignores texts of an unknown form and, if `threads` is not 0, CPUs with another number of threads.
// `where`: "the log". Pure.
AutoTarget ChooseAmongRecords(const std::vector<std::string>& texts, const Machine& machine,
                              int threads, const std::string& where);

// The target for the workers of a server. It considers their GPUs or, without any, their CPUs, and
// takes the machine's class if it is among them, else their only class. INVALID_ARGUMENT, with the
// list, for several; as ChooseForMachine if there are none. Pure.
Result<AutoTarget> ChooseAmongWorkers(const std::vector<std::string>& texts, const Machine& machine,
                                      int threads);

}  // namespace mlc::client
