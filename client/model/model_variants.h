// The variants in which a model may be compiled: with a rewrite of the compiler, or without it.
// Which is faster is a matter of measurement, so mlc-tune measures the tasks of all of them, and
// mlc-compile takes the one that the measurements are for. Thread-safe (no shared state).
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/front/front.h"
#include "compiler/graph/workload.h"
#include "compiler/target/target.h"

namespace mlc::client {

struct ModelVariant {
  std::string name;            // for people, in two or three words
  std::string difference;      // from the usual one, for people; empty: it is the usual one
  std::set<std::string> skip;  // passes that it leaves out
};

// What there is of a model that the passes in `trace` were run on. The usual variant comes first.
// Without fused residuals only for GPUs: on CPUs another way through memory never wins.
std::vector<ModelVariant> VariantsOf(const front::PassTrace& trace, const target::Target& target);
// Options of the usual variant made into those of another one. It prints no stages.
front::FrontOptions OptionsFor(front::FrontOptions usual, const ModelVariant& variant);

// Whether a variant that comes later in VariantsOf is taken before another one, by the sums of
// their kernels' times: if it is faster by 2 % at least, as those sums leave out what launches
// cost.
bool PlainlyFaster(double later_ns, double earlier_ns);

struct ModelTask {
  graph::Workload workload;
  std::string label;      // as graph::Task's
  std::vector<int> uses;  // executions in each variant
};

// The tasks of a model in all its variants, equal workloads once; those of the usual variant first.
struct ModelTasks {
  std::vector<std::string> variants;  // names; one at least
  std::vector<ModelTask> tasks;

  void Add(const std::string& variant, const std::vector<graph::Task>& its_tasks);
};

// Compiles one variant after the other. Errors as front::CompileModel's.
Result<ModelTasks> TasksOfModel(const front::Model& model, const front::FrontOptions& options,
                                const target::Target& target);

}  // namespace mlc::client
