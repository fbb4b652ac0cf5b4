// Keeps the code of a library that takes ranges small: a class runs the kernels of a larger one,
// for the rows that it needs, where they are about as fast as its own. It then has the memory plan
// of the larger class. Use it from one thread.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/digest.h"
#include "client/compile/bounded_steps.h"
#include "compiler/graph/program.h"
#include "compiler/graph/ranged/step_rows.h"
#include "compiler/ir/stored_rows.h"
#include "compiler/package/library.h"
#include "compiler/target/target.h"

namespace mlc::client {

// What a kernel of a larger class may take longer than one of the class itself.
inline constexpr double kMostSlowerShared = 1.05;

// What a class runs.
struct ClassPlan {
  graph::Program program;
  std::vector<package::Choice> choices;
  StepRows rows;  // as package::Plan::rows
};

class SharedKernels {
 public:
  // Borrows the target. `dims`: the number of dimensions that vary.
  SharedKernels(const target::Target& target, size_t dims) : target_(target), dims_(dims) {}

  // The larger classes come first. `hidden_input`: as graph::RowsOfSteps takes it.
  void Share(ClassPlan& plan, int hidden_input);

 private:
  // Where the time of a kernel goes when it computes a part of its rows.
  struct Loops {
    std::vector<ir::LoopRows> phases;
    std::vector<int64_t> extents;
    int64_t rows = 1;  // of all
    int64_t tile = 0;  // rows that are computed at once; 0: no loop inside of a phase has a limit
  };

  bool ShareWith(const ClassPlan& larger, ClassPlan& plan, int hidden_input);
  // Whether a step may run the larger class's kernel, for `rows[step]` rows.
  bool MayShare(const ClassPlan& larger, const ClassPlan& plan, size_t step,
                std::span<const int64_t> rows);
  const Loops& LoopsOf(const graph::Workload& workload, const package::Choice& choice);
  double ShareOfTime(const Loops& loops, int64_t rows) const;
  bool IsFastEnough(const graph::Task& task, const package::Choice& choice,
                    const graph::Task& larger, const package::Choice& of_larger, int64_t rows);

  const target::Target& target_;
  const size_t dims_;
  std::vector<ClassPlan> larger_;                    // with memory plans of their own
  std::map<Digest, Loops> loops_;                    // by workload
  std::vector<std::vector<graph::Source>> sources_;  // of the class at hand
};

}  // namespace mlc::client
