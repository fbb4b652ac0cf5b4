// The timing protocol of kernels on a GPU. It starts with the early-stop check. Then it takes
// samples in the state of a model (activations in the L2 cache, weights beyond it), then samples
// with all operands beyond the L2 cache. The time of an execution is the sum of its launches'
// kernel records. Several kernels are sampled in turns, so that a change of the machine affects all
// of them. The device is passed as functions, so that tests can replace it. Not thread-safe.
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
  int copies = 1;    // number of weight copies
  // Enqueues one execution with weight copy `copy`.
  std::function<Status(int copy)> execute;
  // Enqueues one kernel that empties the L2 cache.
  std::function<Status()> evict;
  // Waits, then returns the records of all kernels that were enqueued since the last call, in
  // order.
  std::function<Result<std::vector<KernelRecord>>()> take;
};

struct GpuTimingOptions {
  double early_stop_ns = 0;        // 0 = never
  double early_stop_margin = 1.3;  // slower than early_stop_ns by more than this ends the trial
  double contender_margin = 1.1;   // cold runs only for kernels within this of early_stop_ns
  double sample_ns = 20e3;         // least total time of the executions of a sample
  int most_executions = 10;        // executions of a sample
  double budget_ns = 15e6;         // of all samples together
  int min_samples = 5;
  int max_samples = 20;
  int rounds = 5;  // turns of several kernels, each with half of the samples
  int cold_samples = 7;
  // Polled after all samples above. While it returns true, contenders get more samples, up to
  // `most_more` times as many as they had. Null: never.
  std::function<bool()> more = nullptr;
  int most_more = 9;
};

// The number of weight copies that the protocol can use.
inline constexpr int kGpuCopies = 11;

// UNAVAILABLE if records are lost twice; errors of the stage are returned unchanged.
Result<Timing> TimeOnGpu(const GpuStage& stage, const GpuTimingOptions& options);
// Times several stages in turns, one result per stage; no stage stops early.
Result<std::vector<Timing>> TimeInTurns(std::span<const GpuStage> stages,
                                        const GpuTimingOptions& options);

}  // namespace mlc::worker
