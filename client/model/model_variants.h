// The variants of a model: compiled with or without a rewrite of the compiler. Only measurements
// show which variant is faster. Therefore mlc-tune measures the tasks of all variants, and
// mlc-compile takes the fastest variant. Thread-safe (no shared state).
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "client/model/constants.h"
#include "client/model/dims.h"
#include "compiler/front/front.h"
#include "compiler/graph/workload.h"
#include "compiler/target/target.h"

namespace mlc::client {

struct ModelVariant {
  std::string name;            // for people, in two or three words
  std::string difference;      // from the usual one, for people; empty: it is the usual one
  std::set<std::string> skip;  // passes that it leaves out
};

// The variants of a model that the passes in `trace` were run on. The usual variant comes first.
// The variant without fused residuals exists only for GPUs, because on CPUs another pass through
// memory never wins.
std::vector<ModelVariant> VariantsOf(const front::PassTrace& trace, const target::Target& target);
// Turns options of the usual variant into those of another one, without printed stages.
front::FrontOptions OptionsFor(front::FrontOptions usual, const ModelVariant& variant);

struct ModelTask {
  graph::Workload workload;
  std::string label;      // as graph::Task's
  std::vector<int> uses;  // executions in each variant
};

// The tasks of a model in all its variants, without duplicates; those of the usual variant come
// first.
struct ModelTasks {
  std::vector<std::string> variants;  // names; one at least
  std::vector<ModelTask> tasks;
  std::vector<std::string> notes = {};  // of the compiler, on the usual variant; a line each

  void Add(const std::string& variant, const std::vector<graph::Task>& its_tasks);
};

// The tasks of a model at several sizes, each of which is to be fast: a variant's uses are those at
// all sizes. At a size without a variant, its usual one counts.
ModelTasks TasksOfAll(const std::vector<ModelTasks>& sizes);

// Compiles one variant after the other. Errors as front::CompileModel's.
Result<ModelTasks> TasksOfModel(const front::Model& model, const front::FrontOptions& options,
                                const target::Target& target);
// Reads the model at each of the sizes. Errors name the sizes, if there are several.
Result<ModelTasks> TasksOfModel(const std::string& path, const DimSizes& sizes,
                                const Constants& constants, const front::FrontOptions& options,
                                const target::Target& target);

}  // namespace mlc::client
