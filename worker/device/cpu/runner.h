// Runs built kernels on reference inputs, checks what they write, and times them. Lives in a child
// process: a kernel may crash or hang it, and the parent sees that. Not thread-safe.
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
  // Timed executions walk through copies of the prepared weights of about this size together.
  int64_t rotation_bytes = kMinRotationBytes;
  // Timed executions find tensors in the caches of all threads (spread.h). Of no use where threads
  // share CPUs.
  bool spread = true;
};

// How far the weights of a trial rotate on a CPU, so that they come from where they do in a
// network: from memory, if the last cache is of the size of a network's weights or smaller. In a
// larger one they may stay from one run of the network to the next; then they come from beyond the
// second caches of all threads.
int64_t RotationBytesFor(const target::Target& target);

// What a runner learnt about the machine; handed from one runner child to the next.
struct MachineState {
  ReferenceSpeed fma;  // of multiply-adds in registers
  ReferenceSpeed l1;   // of multiply-adds on rows in the first cache
  double clock_mhz = 0;
  int64_t clock_read_at_ns = 0;
  RetryBudget retry_budget;
};

class Runner {
 public:
  // Starts the threads and binds them to CPUs. `probe` is borrowed; without it no machine state is
  // read.
  Runner(int threads, const MachineProbe* probe, MachineState state);
  ~Runner();
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  // Address space that a runner of the trial may want besides its threads' stacks and heaps: its
  // buffers, what the threads evict, and some to spare.
  static int64_t MemoryFor(const RunTask& task, int threads);
  Measurement Run(const RunTask& task);
  const MachineState& machine() const { return state_; }
  // A kernel wrote where it must not, or gave wrong results: the memory of this process is not to
  // be trusted any more.
  bool tainted() const { return tainted_; }

 private:
  struct Loaded;
  Status Bind(const RunTask& task, Loaded& loaded);
  void AddToSpread(std::byte* tensor, int64_t bytes, Spread& spread) const;
  void Execute(Loaded& loaded);
  // Wrong results as a measurement; nullopt if all is right.
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
