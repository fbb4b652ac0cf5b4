// The figures of a job for display: what its progress means for the model that it tunes. Pure;
// thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/graph/workload.h"
#include "proto/tuner.pb.h"

namespace mlc::server {

struct TaskInfo {
  std::string workload;  // digest
  std::string summary;
  std::string label;
  std::vector<int> uses;  // executions in each variant of the model
  double flops = 0;
  double min_bytes = 0;
  bool narrow = false;  // it reads 16-bit floating-point values
  // The workload, to ask its family about configs; null if not needed.
  std::shared_ptr<const graph::Workload> definition = nullptr;
};
TaskInfo InfoOf(const graph::Workload& workload, const std::string& label, std::vector<int> uses);

// The model that a job tunes.
struct ModelInfo {
  std::vector<TaskInfo> tasks;
  std::vector<std::string> variants = {
      ""};                              // names, the default one first; "" if it is the only one
  std::vector<std::string> notes = {};  // from the compiler; empty for a submitted job
};
// The model of a submitted job. DATA_LOSS if the description cannot be read.
Result<ModelInfo> InfoOf(const proto::JobDescription& description);

struct TaskLine {
  double best_ns = 0;      // of one execution; 0: none yet
  double estimate_ns = 0;  // until there is a best time; 0: unknown
  double default_ns = 0;   // 0: not measured
  double roofline_ns = 0;  // of the work of the workload; 0: unknown
  // The work that the best kernel executes over the work of the workload, at most 1, and the
  // roofline of the executed work.
  double executed_share = 1;
  double executed_roofline_ns = 0;
  double share = 0;  // of the model's time, 0..1
  int64_t trials = 0;
  int under_way = 0;  // trials in progress
  int uses = 0;       // in the variant that would be built

  double KnownNs() const { return best_ns > 0 ? best_ns : estimate_ns; }
};

// The time of the model is that of the library that a build would write now. It is the sum of the
// best measured time of each task or, without one, of the expected time of the config that a build
// would use (a transferred config or the default). 0 while a task has neither.
struct VariantFigures {
  int tasks = 0;
  int missing = 0;  // tasks without a correct kernel
  int untried = 0;  // of those, tasks without a trial
  double model_ns = 0;
  double measured_share = 0;  // of model_ns
};

struct JobFigures {
  std::vector<TaskLine> tasks;
  std::vector<VariantFigures> variants;  // parallel to the model's
  size_t fastest = 0;                    // the variant that would be built
  // The time of the default variant with default configs, which a build without a log uses; 0 until
  // every default is measured.
  double default_model_ns = 0;
  int defaults_missing = 0;  // tasks of the default variant without a measured default
  int64_t measured = 0;      // trials measured by this run, not read from the log
  double trials_per_s = 0;   // measured trials per second; 0 without any
  int64_t failures = 0;

  const VariantFigures& model() const { return variants[fastest]; }
};
JobFigures FiguresOf(const ModelInfo& model, const proto::JobProgress& progress);

}  // namespace mlc::server
