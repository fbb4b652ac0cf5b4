// How fast the machine is and how calm: the peak of dependent-free multiply-adds on all threads,
// what they reach on rows in the first-level caches, the clock, the copy bandwidth. Runs in
// children that measure. Not thread-safe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/build/loaded_kernel.h"
#include "compiler/runtime/thread_pool.h"
#include "compiler/target/target.h"
#include "worker/measure/gauge_kernels.h"

namespace mlc::worker {

class Gauge {
 public:
  // `kernels`: see gauge_kernels.h.
  static Result<Gauge> Create(const std::string& kernels, const target::Target& target);

  // The best of some bursts, in GFLOP/s: 0.1 ms, and up to 2 ms until one reaches `enough`, as the
  // pool's threads may have to wake up first. REQUIRES: the calling thread is pinned.
  double Gflops(mlc_pool* pool, double enough) const;
  // Of multiply-adds on rows, the median of a few: what is left of the first-level caches. Who
  // shares them may pause for some, so that the best says little. 0.1 ms. REQUIRES: the threads are
  // awake.
  double RowsGflops(mlc_pool* pool) const;
  // The peak after warming up: 30 ms, and up to 1 s while all threads together are far slower
  // than one thread alone, times the cores. Pins the calling thread to the first processor:
  // unpinned, it may share one with a thread of the pool.
  double PeakGflops(mlc_pool* pool) const;

 private:
  struct Part {
    mlc_phase_fn phase = nullptr;
    GaugeKernel kernel;
  };
  // GFLOP/s on the first `threads` threads.
  double Once(mlc_pool* pool, const Part& part, int threads) const;

  std::shared_ptr<build::LoadedObject> object_;
  Part burst_;
  Part rows_;
  std::vector<float> operands_;  // of all threads, and room to start at a page
  target::Target target_;
  int cores_ = 1;
};

// Of the calling thread's processor, by instructions that wait for one another. 0.1 ms.
double ClockMhz();

// The caller of a pool works along as thread 0: on the first processor, as worker i is on the i-th.
void PinToFirst();

// Bytes read plus written, out of cache, all threads.
double CopyGbps(mlc_pool* pool);

}  // namespace mlc::worker
