// Keeps the code of a library that takes ranges small: classes run kernels of larger ones, for the
// rows that they need, where these are about as fast as their own. For each task it looks for the
// fewest kernels that serve all classes. A class that shares has the memory plan of the largest
// class with the same steps. Use it from one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/digest.h"
#include "client/compile/bounded_steps.h"
#include "client/compile/row_times.h"
#include "compiler/graph/program.h"
#include "compiler/graph/ranged/step_rows.h"
#include "compiler/package/library.h"
#include "compiler/target/target.h"

namespace mlc::client {

// What a kernel of a larger class may take longer than one of the class itself.
inline constexpr double kMostSlowerShared = 1.15;
// What all kernels together may add to that, over the time of the class; each task has an equal
// part of it. Steps that take no time worth speaking of share by it.
inline constexpr double kSlackOfClass = 0.05;
// What the kernel of the largest class may take longer with more chunks, if more classes then share
// it: a class of few rows needs chunks for all threads.
inline constexpr double kMostSlowerSplit = 1.03;

// What a class runs.
struct ClassPlan {
  graph::Program program;
  std::vector<package::Choice> choices;
  StepRows rows;  // as package::Plan::rows
  // Whether the largest class computes what this one does (SizedModel::IsInLargest).
  bool in_largest = false;
};

class SharedKernels {
 public:
  // Borrows the target. `dims`: the number of dimensions that vary.
  SharedKernels(const target::Target& target, size_t dims) : times_(target), dims_(dims) {}

  // Of all classes, no class before a larger one. `hidden_input`: as graph::RowsOfSteps takes it.
  void Share(std::vector<ClassPlan>& plans, int hidden_input);

 private:
  using Rows = std::optional<std::vector<int64_t>>;  // by step; none: not the same steps
  // Classes with the same steps, the largest one first.
  struct Chain {
    std::vector<ClassPlan*> plans;
    std::vector<std::vector<Digest>> constants;       // their digests
    std::vector<std::vector<Rows>> rows;              // rows[i][j]: of i with the kernels of j
    std::vector<std::vector<graph::Source>> sources;  // by step
    std::vector<std::vector<size_t>> kernels;         // by class and step: whose kernel it runs
    std::vector<double> slack_ns;                     // by class, of a task
  };

  static bool Fits(const ClassPlan& plan, const ClassPlan& largest, int hidden_input);
  static Chain ChainOf(std::vector<ClassPlan*> plans, int hidden_input);
  void ChooseKernels(Chain& chain);
  // By class: whose kernel it runs in these steps.
  std::vector<size_t> KernelsOf(const Chain& chain, std::span<const size_t> steps);
  // Gives the largest class, if its kernel is not tuned, the chunks of another one where fewer
  // kernels then suffice. Returns KernelsOf.
  std::vector<size_t> SplitFiner(const Chain& chain, std::span<const size_t> steps);
  double CostOf(const Chain& chain, std::span<const size_t> steps, size_t of, size_t with);
  static bool MayShare(const Chain& chain, size_t step, size_t of, size_t with);
  ClassPlan PlanOf(const Chain& chain, size_t of) const;

  RowTimes times_;
  const size_t dims_;
};

}  // namespace mlc::client
