// The config for a workload without records: a config transferred from a similar workload, or the
// default (default_config.h). Searches (first trial of a task), builds and queries use the same
// rule.
//
// The rule is a proportion. The expected time of a transferred config is its measured time there,
// times the quotient of its analytic estimates here and there. The more alike the two problems are,
// the more the errors of the estimates cancel. A transferred config is preferred if its expected
// time is below that of the default, which follows from the default's measured time there if there
// is one. Deterministic; thread-safe.
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

// The measurements of another workload on the same class of target.
struct SimilarWorkload {
  graph::Workload workload;
  std::vector<Timed> best;  // best first
  double default_ns = 0;    // of its default config; 0: not measured
};

struct PriorConfig {
  schedule::Config config;
  double expected_ns = 0;  // of one execution
  int similar = -1;        // index of the workload it was transferred from; -1: the default
  size_t place = 0;        // in its `best`
};

// Largest distance of similar problems, in doublings of their sizes.
inline constexpr double kFarthestSimilar = 4;
// Number of nearest workloads that a transfer looks at.
inline constexpr size_t kMostSimilar = 4;

struct NearProblem {
  double distance = 0;
  size_t index = 0;
};
// The problems that are similar to `problem`, nearest first (ties: in order).
std::vector<NearProblem> NearProblems(const Problem& problem, std::span<const Problem> others);

// Indices of the problems that are similar to `problem`, nearest first (ties: in order).
std::vector<size_t> NearestProblems(const Problem& problem, std::span<const Problem> others);

// Transfers a config: each knob gets its closest legal value in this workload's space. If the
// result is illegal, one knob is changed. Empty if the family does not accept the workload or has
// another version, or if no such change is legal.
std::optional<schedule::Config> TransferConfig(const schedule::Config& config,
                                               const graph::Workload& workload,
                                               const target::Target& target);

// The default and all transferred configs, without duplicates, best first. UNIMPLEMENTED if no
// family accepts the workload. Ignores similar workloads that this build does not understand.
Result<std::vector<PriorConfig>> PriorConfigsFor(const graph::Workload& workload,
                                                 const target::Target& target,
                                                 std::span<const SimilarWorkload* const> nearest);

}  // namespace mlc::costmodel
