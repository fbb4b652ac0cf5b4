// The timing protocol of kernels on a GPU: early-stop check, then samples as a model meets the
// kernel (activations in the L2 cache, weights beyond it), then samples with all operands beyond
// it. An execution's time is the sum of its launches' kernel records. Several kernels are sampled
// in turns, so that what changes meanwhile changes all of them. The device is given as functions,
// so that tests own it. Not thread-safe.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "base/status.h"
#include "worker/device/cuda/cupti.h"
#include "worker/measure/timing.h"

namespace mlc::worker {

struct GpuStage {
  int launches = 1;  // kernel records of one execution
  int copies = 1;    // of the weights
  // Enqueues one execution with that copy of the weights.
  std::function<Status(int copy)> execute;
  // Enqueues one kernel that empties the L2 cache.
  std::function<Status()> evict;
  // Waits, and gives the records of all kernels enqueued since the last call, in order.
  std::function<Result<std::vector<KernelRecord>>()> take;
};

struct GpuTimingOptions {
  double early_stop_ns = 0;        // 0 = never
  double early_stop_margin = 1.3;  // slower than early_stop_ns by more than this ends the trial
  double contender_margin = 1.1;   // cold runs only for kernels within this of early_stop_ns
  double sample_ns = 20e3;         // executions of a sample take at least this together
  int most_executions = 10;        // of a sample
  double budget_ns = 15e6;         // of all samples together
  int min_samples = 5;
  int max_samples = 20;
  int rounds = 5;  // of turns, where there are several kernels, with half of the samples each
  int cold_samples = 7;
  // Asked again and again once everything above is done: while it is true, contenders get more
  // samples, up to `most_more` times as many as they had. Null: never.
  std::function<bool()> more = nullptr;
  int most_more = 9;
};

// Copies of the weights that the protocol can use.
inline constexpr int kGpuCopies = 11;

// UNAVAILABLE when records are lost twice; errors of the stage are handed on.
Result<Timing> TimeOnGpu(const GpuStage& stage, const GpuTimingOptions& options);
// One for each stage; none stops early.
Result<std::vector<Timing>> TimeInTurns(std::span<const GpuStage> stages,
                                        const GpuTimingOptions& options);

}  // namespace mlc::worker
