// The machine's own peak: independent fused multiply-adds in registers, on all threads of a target.
// Not thread-safe.
#pragma once

#include <memory>
#include <vector>

#include "tests/bench/kernel_runner.h"

namespace mlc::bench {

class FmaPeak {
 public:
  // REQUIRES: the target is this machine's.
  static Result<FmaPeak> Create(const target::Target& target);
  // GFLOP/s of one burst.
  double Measure(Threads& threads);

 private:
  FmaPeak() = default;

  double flops_ = 0;  // of a burst
  int threads_ = 1;
  std::unique_ptr<build::LoadedObject> object_;
  std::vector<mlc_phase_fn> phases_;
  AlignedBuffer in_;
  AlignedBuffer out_;
};

}  // namespace mlc::bench
