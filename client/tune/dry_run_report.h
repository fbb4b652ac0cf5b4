// The report of mlc-tune --dry-run, as text and as JSON with "schema": "mlc.dry-run/1". Fields may
// be added, but are never renamed. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/graph/onnx/survey.h"
#include "server/state/job_figures.h"

namespace mlc::client {

struct DryRunResult {
  std::string model;  // the file
  std::string target;
  std::vector<std::string> sizes;  // of dimensions that vary, "batch=8"; none: one size
  graph::onnx::ModelSurvey survey;
  server::ModelInfo tasks;                  // none if there are obstacles
  std::vector<std::string> without_kernel;  // tasks that no family accepts on the target
  int64_t trials = 0;                       // as requested, or the default for this number of tasks
  bool trials_are_usual = false;
  double seconds = 0;  // for these trials

  bool CanBeTuned() const { return survey.obstacles.empty() && without_kernel.empty(); }
};

std::string DryRunText(const DryRunResult& result);
std::string DryRunJson(const DryRunResult& result);

}  // namespace mlc::client
