// What to use for a workload of which nothing was measured: a fast config transferred from
// a similar workload, or the default (default_config.h). One rule for all who need it:
// searches (the first trial of a task), builds and queries.
//
// The rule is a proportion. A config is expected to take here what it took there, times the
// quotient of its analytic estimates; the estimate's error cancels as far as the two problems are
// alike. A transferred config is preferred where it is so expected to beat the default, whose
// measured time there, if there is one, is the yardstick. Deterministic; thread-safe.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/status.h"
#include "compiler/graph/workload.h"
#include "compiler/schedule/space/family.h"
#include "compiler/target/target.h"
#include "costmodel/problem.h"

namespace mlc::costmodel {

struct Timed {
  schedule::Config config;
  double ns = 0;
};

// What was measured of another workload on the same class of target.
struct SimilarWorkload {
  graph::Workload workload;
  std::vector<Timed> best;  // best first
  double default_ns = 0;    // of its default config; 0: not measured
};

struct PriorConfig {
  schedule::Config config;
  double expected_ns = 0;  // of one execution
  int similar = -1;        // place of the workload it was transferred from; -1: the default
  size_t place = 0;        // in its `best`
};

// How far apart two problems may be, in doublings, for one to count as similar to the other.
inline constexpr double kFarthestSimilar = 4;
// So many of the nearest ones suffice.
inline constexpr size_t kMostSimilar = 4;

// Indices of the problems near enough to `problem`, nearest first (ties: in order).
std::vector<size_t> NearestProblems(const Problem& problem, std::span<const Problem> others);

// The config of this workload's space closest to one of another workload's, each knob by its value;
// repaired in one knob if that is illegal. Nothing if the family does not accept the workload, is
// of another version, or no repair is found.
std::optional<schedule::Config> TransferConfig(const schedule::Config& config,
                                               const graph::Workload& workload,
                                               const target::Target& target);

// The default and all transferred configs, distinct, best first. UNIMPLEMENTED if no family accepts
// the workload. Similar workloads that this build cannot understand are passed over.
Result<std::vector<PriorConfig>> PriorConfigsFor(const graph::Workload& workload,
                                                 const target::Target& target,
                                                 std::span<const SimilarWorkload* const> nearest);

}  // namespace mlc::costmodel
