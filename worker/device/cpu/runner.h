// Runs built kernels on reference inputs, checks their results and times them. It runs in a child
// process, because a kernel may crash or hang; the parent detects that. Not thread-safe.
#pragma once

#include <memory>
#include <optional>

#include "base/measurement.h"
#include "compiler/graph/workload.h"
#include "compiler/runtime/thread_pool.h"
#include "compiler/target/target.h"
#include "worker/build/built_kernel.h"
#include "worker/check/arena.h"
#include "worker/check/reference.h"
#include "worker/measure/machine_probe.h"
#include "worker/measure/quiet_machine_gate.h"
#include "worker/measure/reference_speed.h"
#include "worker/measure/spread.h"
#include "worker/measure/timing.h"

namespace mlc::worker {

inline constexpr int64_t kMinRotationBytes = int64_t{24} << 20;

struct RunTask {
  const graph::Workload* workload = nullptr;
  const BuiltKernel* built = nullptr;
  const std::byte* reference = nullptr;  // laid out by ReferenceLayoutOf, filled by MakeReference
  double early_stop_ns = 0;
  // Timed executions rotate through copies of the prepared weights with about this total size.
  int64_t rotation_bytes = kMinRotationBytes;
  // If true, timed executions find their tensors in the caches of all threads (spread.h). It has no
  // effect where threads share CPUs.
  bool spread = true;
};

// The rotation size of a CPU, so that timed executions read the weights from where a network would:
// from memory if the last-level cache is not larger than the weights of a network, else from beyond
// the second-level caches of all threads.
int64_t RotationBytesFor(const target::Target& target);

// What a runner knows of the machine; each runner child passes it to the next one.
struct MachineState {
  ReferenceSpeed fma;  // of multiply-adds in registers
  ReferenceSpeed l1;   // of multiply-adds on rows in the first-level cache
  double clock_mhz = 0;
  int64_t clock_read_at_ns = 0;
  RetryBudget retry_budget;
};

class Runner {
 public:
  // Starts the threads and pins them to CPUs. Borrows `probe`; if it is null, the machine state is
  // not probed.
  Runner(int threads, const MachineProbe* probe, MachineState state);
  ~Runner();
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  // The address space, in bytes, that a runner needs for the trial besides the stacks and heaps of
  // its threads: buffers, eviction buffers and a reserve.
  static int64_t MemoryFor(const RunTask& task, int threads);
  Measurement Run(const RunTask& task);
  const MachineState& machine() const { return state_; }
  // True if a kernel wrote out of bounds or gave wrong results: the memory of this process may be
  // damaged.
  bool tainted() const { return tainted_; }

 private:
  struct Loaded;
  Status Bind(const RunTask& task, Loaded& loaded);
  void AddToSpread(std::byte* tensor, int64_t bytes, Spread& spread) const;
  void Execute(Loaded& loaded);
  // A measurement for wrong results; nullopt if the results are correct.
  std::optional<Measurement> Check(const RunTask& task, const Loaded& loaded, double& error);
  Timing Time(const RunTask& task, Loaded& loaded);
  // Speed of the machine now, relative to the reference speed.
  double MachineSpeed();
  // Adds one probe to the reference speeds.
  void RecordSpeed();
  void Spin(int64_t ns);
  void ReadClock();
  void Evict();

  int threads_;
  const MachineProbe* probe_;
  MachineState state_;
  mlc_pool* pool_;
  Arena arena_;
  std::vector<std::byte> eviction_;
  bool tainted_ = false;
};

}  // namespace mlc::worker
