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

struct GaugeReading {
  double gflops = 0;
  double clock_mhz = 0;
};

class Gauge {
 public:
  static Result<Gauge> Create(const std::string& burst, const target::Target& target);

  // REQUIRES: the calling thread is pinned. About 0.1 ms: the best of a few bursts.
  GaugeReading Read(mlc_pool* pool) const;
  // The peak after warming up: 30 ms, more on a machine that others keep busy. Pins the calling
  // thread to the first processor: unpinned, it may share one with a thread of the pool.
  double PeakGflops(mlc_pool* pool) const;

 private:
  double Burst(mlc_pool* pool) const;

  std::shared_ptr<build::LoadedObject> object_;
  mlc_phase_fn phase_ = nullptr;
  target::Target target_;
};

// The caller of a pool works along as thread 0: on the first processor, as worker i is on the i-th.
void PinToFirst();

// Bytes read plus written, out of cache, all threads.
double CopyGbps(mlc_pool* pool);

}  // namespace mlc::worker
