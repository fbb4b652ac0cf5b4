// The candidates of one convolution or dense layer: built, held against the first one's result, and
// timed. Not thread-safe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/schedule/space/family.h"
#include "tests/bench/kernel_runner.h"

namespace mlc::bench {

struct Candidate {
  schedule::Config config;
  std::unique_ptr<RunnableKernel> kernel;  // null if it was not built, or computes wrong values
  std::string error;                       // why it was not built
  double seconds = 0;                      // of a run
  double difference = 0;                   // from the first candidate's output, relative
};

// What a benchmark's timings are taken with.
struct Bench {
  Threads& threads;
  const ColdWeights* cold = nullptr;  // weights come from there, or stay in the caches if null
};

// On two threads; the candidates' kernels run on `data`, which outlives them.
std::vector<Candidate> BuildCandidates(const graph::Workload& workload,
                                       const target::Target& target,
                                       const std::vector<schedule::Config>& configs,
                                       WorkloadData& data);

// Runs and times each once, and leaves those that were built and agree with the first one. What is
// left out is told on stdout.
void CheckAndTime(std::vector<Candidate>& candidates, WorkloadData& data, const Bench& bench);

// The fused multiply-adds that a kernel executes for its result, times two: a direct kernel skips
// taps in the padding, Winograd's products are fewer. Transforms and unused lanes are not counted.
double ExecutedFlops(const graph::Workload& workload, const schedule::Config& config);

}  // namespace mlc::bench
