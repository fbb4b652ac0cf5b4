// What search_record.cc wrote: kernels of a model's tasks, with their times. Values.
#pragma once

#include <string>
#include <vector>

#include "compiler/graph/workload.h"
#include "compiler/schedule/space/config.h"
#include "compiler/schedule/space/family.h"
#include "compiler/target/target.h"

namespace mlc::bench {

struct Row {
  schedule::Config config;
  double ns;
};

struct Recorded {
  graph::Workload workload;
  int occurrences;
  std::vector<Row> rows;
};

struct Space {
  target::Target target;
  std::vector<Recorded> tasks;
};

// REQUIRES: the file is one of search_record.
Space Read(const std::string& path);

struct Described {
  schedule::KernelFacts facts;
  double estimate;
  std::vector<float> features;
};

// A kernel as the cost models see it.
Described Describe(const graph::Workload& workload, const target::Target& target,
                   const schedule::Config& config);

// Prints a table for fitting the analytic model.
void PrintFacts(const Space& space);
// Prints how well the analytic model orders the kernels.
void JudgeAnalytic(const Space& space);

}  // namespace mlc::bench
