// Trials of benchmarks on one GPU, through the worker's engine, which checks the results. Not
// thread-safe.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/measurement.h"
#include "base/status.h"
#include "compiler/graph/workload.h"
#include "compiler/target/target.h"
#include "worker/engine/engine.h"

namespace mlc::bench {

struct Problem {
  std::string name, workload;
};

// For lists of candidates on a machine without a GPU.
Result<target::Target> TypicalH200();

// On the first GPU alone; MLC_TEST_SANDBOX=off switches the sandbox off. `user_kernels`: it also
// runs user-supplied kernels.
Result<std::unique_ptr<worker::Engine>> FirstGpu(bool user_kernels = false);

// Of the configs, by their texts.
std::map<std::string, Measurement> Measure(worker::Engine& engine, const std::string& workload,
                                           const std::vector<std::string>& configs);

// Calls `body` with each problem whose name contains one of `names`; with all if there are none.
Status ForProblems(const std::vector<Problem>& problems, const std::vector<std::string>& names,
                   const std::function<Status(const Problem&, const graph::Workload&)>& body);

}  // namespace mlc::bench
