// What `--target auto` means: the machine's GPU where it can do the work, else its CPU; and
// where there are records or workers, what those are of. The choice comes with its reason, so that
// a program can say it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "compiler/target/target.h"

namespace mlc::client {

inline constexpr std::string_view kAutoTarget = "auto";

// Tuning times kernels, which on a GPU takes CUPTI; compiling takes NVRTC alone.
enum class Work { kTune, kCompile };

struct AutoTarget {
  target::Target target;
  std::string text;    // as --target takes it: "cuda", "cpu" or the target's text
  std::string reason;  // "NVIDIA H100, NVRTC 13.0, CUPTI found"

  // "target: cuda (NVIDIA H100, NVRTC 13.0, CUPTI found)"
  std::string Line() const { return "target: " + text + " (" + reason + ")"; }
};

// What this machine offers, asked once. The driver and the CUDA libraries are opened in a child
// process.
struct Machine {
  target::Target cpu;
  Result<target::Target> gpu;  // GPU 0, or why there is none
  std::string gpu_name;
  std::string nvrtc;          // its version; empty: not found
  std::string nvrtc_failure;  // why
  std::string cupti;          // the file; empty: not found
};
Machine LookAtMachine(int threads, const std::string& cuda_home);

// The GPU if it and the CUDA libraries that the work takes are there, else the CPU.
AutoTarget ChooseForMachine(const Machine& machine, Work work);

// For a model whose kernels are recorded: the machine's GPU, then its CPU, if the records
// are of its class; a class that is the only one; else as ChooseForMachine. `texts` are targets or
// classes; those of an unknown form are passed over, as are CPUs of another number of threads
// if `threads` is not 0. `where`: "the log". Pure.
AutoTarget ChooseAmongRecords(const std::vector<std::string>& texts, const Machine& machine,
                              int threads, const std::string& where);

// For workers of a server, of GPUs if it has any, else of CPUs: the machine's class if it is
// among them, else their only one. INVALID_ARGUMENT, with the list, for several; as
// ChooseForMachine if there are none. Pure.
Result<AutoTarget> ChooseAmongWorkers(const std::vector<std::string>& texts, const Machine& machine,
                                      int threads);

}  // namespace mlc::client
