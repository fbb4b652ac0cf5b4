// A model may be executed in variants, of which only the fastest will be built. Which one that is
// shows while their tasks are searched: this estimates how likely each is, so that trials go to the
// tasks that matter. Pure; thread-safe.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace mlc::server {

struct TaskOutlook {
  double ns = 0;                 // of one execution, as it is known or estimated
  double headroom = 0;           // share of it that the search may still save, 0 to 1
  std::span<const double> uses;  // executions in each variant
  bool given_up = false;         // no kernel was found for it
};

struct WinProbabilities {
  // The fastest as of now, of those that can be built; the first one among equals.
  size_t leader = 0;
  double leader_ns = 0;  // of all its executions
  // 1 for the leader; 0 for a variant that cannot be built, or stays slower even if the whole
  // headroom of the tasks that it uses more than the leader does is saved; between them in
  // proportion.
  std::vector<double> of_variant;

  // Executions of a task that may count in the end.
  double WeightOf(std::span<const double> uses) const;
};

// REQUIRES: every task has as many uses, at least one.
WinProbabilities WinProbabilitiesOf(std::span<const TaskOutlook> tasks);

}  // namespace mlc::server
