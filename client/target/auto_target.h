// Resolves `--target auto`: the machine's GPU if it can do the work, else its CPU; if there are
// records or workers, their class. The choice has a reason that a program can print.
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

// What this machine offers; asked once. A child process opens the driver and the CUDA libraries.
struct Machine {
  target::Target cpu;
  Result<target::Target> gpu;  // GPU 0, or why there is none
  std::string gpu_name;
  std::string nvrtc;          // its version; empty: not found
  std::string nvrtc_failure;  // why
  std::string cupti;          // the file; empty: not found
};
Machine LookAtMachine(int threads, const std::string& cuda_home);

// Returns the GPU if it and the CUDA libraries for the work are there, else the CPU.
AutoTarget ChooseForMachine(const Machine& machine, Work work);

// For a model with records: the machine's GPU, then its CPU, if the records are of its class; else
// the only class there is; else as ChooseForMachine. `texts` are targets or classes. Texts of an
// unknown form are ignored, and if `threads` is not 0 also CPUs with another number of threads.
// `where`: "the log". Pure.
AutoTarget ChooseAmongRecords(const std::vector<std::string>& texts, const Machine& machine,
                              int threads, const std::string& where);

// For the workers of a server, GPUs if it has any, else CPUs: the machine's class if it is among
// them, else their only class. INVALID_ARGUMENT, with the list, for several; as ChooseForMachine if
// there are none. Pure.
Result<AutoTarget> ChooseAmongWorkers(const std::vector<std::string>& texts, const Machine& machine,
                                      int threads);

}  // namespace mlc::client
