// The plans of a library of several sizes: the programs of one model at each combination of sizes,
// merged into one program whose equal tasks and equal constants are one. A plan is a part of its
// steps. Values; not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/digest.h"
#include "base/status.h"
#include "compiler/graph/program.h"
#include "compiler/graph/ranged/size_form.h"
#include "compiler/package/library.h"

namespace mlc::package {

// An axis of an input whose length is the size of a dimension.
struct SizeAxis {
  int input = 0;
  int axis = 0;
  int dim = 0;
};

// What a library runs at one combination of sizes.
struct Plan {
  std::vector<int64_t> sizes;  // one a dimension
  int first_step = 0;          // of the merged program
  int step_count = 0;
  std::vector<graph::Port> inputs;
  std::vector<graph::Port> outputs;
  int64_t arena_bytes = 0;
  // By step: how many rows of its results (graph/ranged/step_rows.h) a run needs; none: all. Empty:
  // all of all steps.
  std::vector<std::optional<graph::SizeForm>> rows = {};
  graph::CountedOutputs counted = {};
};

// What a library takes beside the sizes of its plans.
struct PlanRanges {
  // By dimension.
  std::vector<int64_t> least;
  std::vector<int64_t> most;
  std::vector<bool> any_size;  // every size between them; false: those of the plans
  graph::RangeForms forms;
};

struct Plans {
  std::vector<std::string> dims;                    // none: a library of one size
  std::vector<SizeAxis> axes;                       // by input
  std::vector<Plan> plans;                          // one at least, in the ascending order of sizes
  std::optional<PlanRanges> ranges = std::nullopt;  // none: the sizes of the plans

  bool has_sizes() const { return !dims.empty(); }
  // The last inputs of each plan, which the runtime gives.
  size_t hidden_inputs() const { return ranges && !ranges->forms.lengths.empty() ? 1 : 0; }
  // The last outputs of each plan, which the runtime takes.
  size_t hidden_outputs() const { return plans.front().counted.count > 0 ? 1 : 0; }
};

// The plan of a library of one size.
Plans OnePlan(const graph::Program& program);

struct MergedPrograms {
  graph::Program program;  // ports: of the first plan; bytes: of the largest one
  std::vector<Choice> choices;
  Plans plans;
};

class PlanMerger {
 public:
  // `dims`: names of the dimensions whose size varies.
  explicit PlanMerger(std::vector<std::string> dims,
                      std::optional<PlanRanges> ranges = std::nullopt);

  // In any order of sizes. A task that an earlier program has keeps the kernel that it has there.
  // `rows`: as Plan's. INVALID_ARGUMENT if the numbers, types or ranks of inputs or outputs differ
  // from the earlier programs'.
  Status Add(std::vector<int64_t> sizes, graph::Program program, std::span<const Choice> choices,
             std::vector<std::optional<graph::SizeForm>> rows = {});
  // INVALID_ARGUMENT if no axis of an input has the length of a dimension, or if the sizes are not
  // all combinations of those of each dimension.
  Result<MergedPrograms> Take();

 private:
  int TaskFor(const graph::Task& task, const Choice& choice);
  int ConstantFor(const graph::TensorDataRef& data);

  MergedPrograms merged_;
  std::map<Digest, int> tasks_;
  std::map<Digest, std::vector<int>> constants_;
};

}  // namespace mlc::package
