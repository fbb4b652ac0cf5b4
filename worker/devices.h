// What a worker is told, and the engine that comes of it: the one place that knows which kinds of
// devices there are.
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
  int builders = 1;                // build children at a time
  bool sandbox = true;
  // GPUs whose runners this machine cannot sandbox run without a sandbox, instead of not at all.
  bool lenient = false;
  bool allow_user_kernels = false;  // GPUs run user-supplied kernels, too
  // Of CPU time, of a trial where tensors are small and each thread has a CPU;
  // deadlines are longer where they are not (child_limits.h).
  int64_t build_memory_bytes = int64_t{4} << 30;  // of a compiler, besides what the engine holds
  int64_t build_timeout_ms = 10'000;
  int64_t run_timeout_ms = 10'000;
  ReferenceOptions references;
};

// Warms the compilers up, so that build children need not; measures the peaks of targets that have
// none: below a second, and a few for GPUs. The error says what the use of a device lacks.
// REQUIRES: the process has one thread.
Result<std::unique_ptr<Engine>> CreateEngine(const WorkerOptions& options);

// The same in a process of its own.
Result<std::unique_ptr<EngineProcess>> StartEngineProcess(const WorkerOptions& options);

}  // namespace mlc::worker
