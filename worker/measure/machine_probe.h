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

  // The FMA probe, the best of some bursts, in GFLOP/s: 0.1 ms, and up to 2 ms until one reaches
  // `enough`, as the pool's threads may have to wake up first. REQUIRES: the calling thread is
  // pinned.
  double FmaGflops(mlc_pool* pool, double enough) const;
  // The L1 probe, the median of a few: it shows how much of the first-level caches other threads
  // leave. Such threads may pause for some of them, so that the best is not representative. 0.1 ms.
  // REQUIRES: the threads are awake.
  double L1Gflops(mlc_pool* pool) const;
  // The peak after warming up: 30 ms, and up to 1 s while all threads together are far slower
  // than one thread alone, times the cores. Pins the calling thread to the first CPU:
  // unpinned, it may share one with a thread of the pool.
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
  std::vector<float> operands_;  // of all threads, and room to start at a page
  target::Target target_;
  int cores_ = 1;
};

// Of the calling thread's CPU, by instructions that wait for one another. 0.1 ms.
double ClockMhz();

// The caller of a pool works along as thread 0: on the first CPU, as worker i is on the i-th.
void PinToFirst();

// Bytes read plus written, out of cache, all threads.
double CopyGbps(mlc_pool* pool);

}  // namespace mlc::worker
