// Estimates for each variant of a model how likely it is the fastest one. Only the fastest variant
// is built, so trials go to the tasks of variants that may win. Pure; thread-safe.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace mlc::server {

struct TaskOutlook {
  double ns = 0;                 // time of one execution, measured or estimated
  double headroom = 0;           // share of `ns` that the search may still save, 0 to 1
  std::span<const double> uses;  // executions in each variant
  bool given_up = false;         // no kernel was found for it
};

struct WinProbabilities {
  // The fastest variant that can be built now; the first one among equals.
  size_t leader = 0;
  double leader_ns = 0;  // time of all its executions
  // Probability of each variant: 1 for the leader; 0 for a variant that cannot be built, or that
  // stays slower even if the search saves the whole headroom of its tasks beyond what the leader
  // saves; linear in between.
  std::vector<double> of_variant;

  // The executions of a task that may count in the end: the maximum over the variants of
  // probability times uses.
  double WeightOf(std::span<const double> uses) const;
};

// REQUIRES: all tasks have the same number of uses, at least one.
WinProbabilities WinProbabilitiesOf(std::span<const TaskOutlook> tasks);

}  // namespace mlc::server
