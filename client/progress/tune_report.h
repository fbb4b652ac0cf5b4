// mlc-tune for programs: JSON with "schema": "mlc.tune/1". Fields are added, never renamed. Pure.
//
// Of a model in variants: `variant` names the one that is built, `variants` has each one's
// `model_ms`, `measured_share` and `tasks_without_kernel`, the usual one first; the figures of the
// model and each task's `occurrences` and `share` are those of `variant`, and a task's `uses` are
// its executions in each. A model that is executed in one way has none of the three.
// `whole_model`, if runners-up were timed in the whole model: its latency `before_ms` and
// `after_ms`, how many were `tried` and `taken`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/local/whole_model.h"
#include "client/progress/progress_view.h"
#include "client/tune/options/tune_options.h"
#include "proto/tuner.pb.h"

namespace mlc::client {

// "running", "done", "cancelled", "failed".
const char* StateText(proto::JobState state);
// The whole result, for --json and as the last event of --json-lines.
std::string ResultJson(const TuneOptions& options, const std::string& job, const ModelInfo& model,
                       const proto::JobProgress& progress,
                       const std::optional<WholeModelResult>& whole = std::nullopt);
// What --detach says.
std::string SubmittedJson(const proto::SubmitJobReply& reply);
// One event of --json-lines.
std::string ProgressJson(const ModelInfo& model, const proto::JobProgress& progress);

// What runners-up in the whole model gave, a line for people.
std::string WholeModelText(const WholeModelResult& result);

// The command that compiles the model with what was found.
std::string CompileCommand(const TuneOptions& options);

}  // namespace mlc::client
