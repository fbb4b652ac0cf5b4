// The options of a worker and its engine. This is the only place that knows which kinds of devices
// exist. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/target/target.h"
#include "worker/check/reference_store.h"
#include "worker/device/fleet/gpu_devices.h"
#include "worker/engine/engine.h"
#include "worker/engine/engine_process.h"

namespace mlc::worker {

struct WorkerOptions {
  target::Target target;           // the CPU
  bool cpu = true;                 // false: the GPUs only
  std::vector<GpuDevice> gpus;     // from FindGpus()
  std::string llvm;                // version of the compiler
  std::string cuda_home;           // where CUDA's libraries are; empty: the usual places
  std::string cubin_cache;         // folder of compiled device code; empty: none
  std::string gpu_locks = "/tmp";  // folder of the locks that workers of one host share
  int builders = 1;                // build children in parallel
  bool sandbox = true;
  // If this machine cannot sandbox the runner of a GPU, run it without a sandbox instead of not at
  // all.
  bool lenient = false;
  bool allow_user_kernels = false;  // also runs user-supplied kernels
  // False: the engine is there before its GPUs are, without the peaks that these measure. A GPU
  // that does not start ends it.
  bool measures_gpu_peaks = true;
  // Limits of CPU time for a trial with small tensors whose threads have a CPU each; otherwise the
  // deadlines are longer (child_limits.h).
  int64_t build_memory_bytes = int64_t{4} << 30;  // of a compiler, without the engine's memory
  int64_t build_timeout_ms = 10'000;
  int64_t run_timeout_ms = 10'000;
  ReferenceOptions references;
};

// Creates the engine. Warms up the compilers for the build children, and measures the peaks of
// targets without them, in less than a second, or a few seconds for GPUs. The error says what the
// use of a device lacks. REQUIRES: the process has one thread.
Result<std::unique_ptr<Engine>> CreateEngine(const WorkerOptions& options);

// The same in a separate process.
Result<std::unique_ptr<EngineProcess>> StartEngineProcess(const WorkerOptions& options);

}  // namespace mlc::worker
