// Probes of the machine's speed: the peak of independent multiply-adds on all threads (FMA probe),
// of multiply-adds on rows in the first-level caches (L1 probe), the clock, the copy bandwidth.
// Runs in children that measure. Not thread-safe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/build/loaded_kernel.h"
#include "compiler/runtime/thread_pool.h"
#include "compiler/target/target.h"
#include "worker/measure/probe_kernels.h"

namespace mlc::worker {

class MachineProbe {
 public:
  // `kernels`: see probe_kernels.h.
  static Result<MachineProbe> Create(const std::string& kernels, const target::Target& target);

  // The FMA probe in GFLOP/s: the best of several bursts. Takes 0.1 ms, or up to 2 ms until a burst
  // reaches `enough`, because the threads of the pool may have to wake up first. REQUIRES: the
  // calling thread is pinned.
  double FmaGflops(mlc_pool* pool, double enough) const;
  // The L1 probe in GFLOP/s: the median of several runs. It shows how much of the first-level
  // caches other code uses. That code may pause during single runs, so the best run is not
  // representative. Takes 0.1 ms. REQUIRES: the threads are awake.
  double L1Gflops(mlc_pool* pool) const;
  // The peak after a warm-up, in GFLOP/s. Takes 30 ms, or up to 1 s while all threads together are
  // far slower than one thread times the cores. Pins the calling thread to the first CPU; unpinned,
  // it might share a CPU with a thread of the pool.
  double PeakGflops(mlc_pool* pool) const;

 private:
  struct Probe {
    mlc_phase_fn phase = nullptr;
    ProbeKernel kernel;
  };
  // GFLOP/s on the first `threads` threads.
  double RunOnce(mlc_pool* pool, const Probe& part, int threads) const;

  std::shared_ptr<build::LoadedObject> object_;
  Probe fma_;
  Probe l1_;
  std::vector<float> operands_;  // of all threads, with padding to a page boundary
  target::Target target_;
  int cores_ = 1;
};

// The clock of the calling thread's CPU, from a chain of dependent instructions. Takes 0.1 ms.
double ClockMhz();

// The caller of a pool works as thread 0, on the first CPU; worker i is on the i-th CPU.
void PinToFirst();

// Copy bandwidth of all threads beyond the caches: bytes read plus written.
double CopyGbps(mlc_pool* pool);

}  // namespace mlc::worker
