// What shares of the machine's peak the fastest kernels of a workload reach. Shares are of the peak
// measured around the timings; nominal counts every tap of every output and no less for Winograd,
// executed what a kernel multiplies.
#pragma once

#include <string>
#include <vector>

#include "tests/bench/conv_candidates.h"
#include "tests/bench/fma_peak.h"

namespace mlc::bench {

struct Shares {
  double tuned = 0;  // seconds of the fastest
  double first = 0;  // of the default
  double peak = 0;   // GFLOP/s
  double nominal = 0;
  double executed = 0;
  double direct_nominal = 0;  // of the fastest direct kernel
  double direct_executed = 0;
  double first_nominal = 0;
  double difference = 0;  // of the fastest, from the first candidate
  std::string config;     // the fastest
};

// Sorts the candidates by their times so far and times the leaders, and the one whose config is
// `default_text`, again in turns, each between two bursts at the machine's peak. REQUIRES: at least
// one candidate, all of them with kernels.
Shares TimeLeaders(const graph::Workload& workload, std::vector<Candidate>& candidates,
                   const std::string& default_text, const Bench& bench, FmaPeak& peak);

// Geometric means over convolutions, each as often as the network has it.
class MeanShares {
 public:
  void Add(const Shares& shares, int times);
  void Print() const;

 private:
  double nominal_ = 0, executed_ = 0, direct_nominal_ = 0, direct_executed_ = 0, first_ = 0;
  double seconds_ = 0, first_seconds_ = 0;
  int count_ = 0;
};

}  // namespace mlc::bench
