// How fast the machine is and how calm: the peak of dependent-free multiply-adds on all threads,
// the clock, the copy bandwidth. Runs in children that measure. Not thread-safe.
#pragma once

#include <memory>
#include <string>

#include "compiler/base/status.h"
#include "compiler/build/loaded_kernel.h"
#include "compiler/runtime/thread_pool.h"
#include "compiler/target/target.h"

namespace mlc::worker {

// An object whose kernel "burst" does nothing but multiply-adds in registers.
Result<std::string> BuildBurst(const target::Target& target);

class Gauge {
 public:
  static Result<Gauge> Create(const std::string& burst, const target::Target& target);

  // The best of some bursts, in GFLOP/s: 0.1 ms, and up to 2 ms until one reaches `enough`, as the
  // pool's threads may have to wake up first. REQUIRES: the calling thread is pinned.
  double Gflops(mlc_pool* pool, double enough) const;
  // The peak after warming up: 30 ms, and up to 1 s while all threads together are far slower
  // than one thread alone, times the cores. Pins the calling thread to the first processor:
  // unpinned, it may share one with a thread of the pool.
  double PeakGflops(mlc_pool* pool) const;

 private:
  // GFLOP/s of a burst on the first `threads` threads.
  double Burst(mlc_pool* pool, int threads) const;

  std::shared_ptr<build::LoadedObject> object_;
  mlc_phase_fn phase_ = nullptr;
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
