// The output of mlc-tune for programs: JSON with "schema": "mlc.tune/1". Fields may be added, but
// are never renamed. Pure.
//
// For a model in variants, `variant` names the one that is built, and `variants` has `model_ms`,
// `measured_share` and `tasks_without_kernel` of each, the usual one first. The figures of the
// model and `occurrences` and `share` of each task are those of `variant`; `uses` of a task are its
// executions in each. A model with one variant has none of the three.
//
// `executed_share` of a task is the work that its best kernel executes over the work of its
// workload, at most 1; `roofline_ns` is the roofline of the latter.
//
// `whole_model` is there if runners-up were timed in the whole model: its latency `before_ms` and
// `after_ms`, how many there were to be timed (`asked`), how many were `tried` and `taken`, and the
// `seconds` of all that.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/local/whole_model.h"
#include "client/progress/progress_view.h"
#include "client/tune/options/tune_options.h"
#include "proto/tuner.pb.h"

namespace mlc::client {

// The whole result, for --json and as the last event of --json-lines.
std::string ResultJson(const TuneOptions& options, const std::string& job,
                       const server::ModelInfo& model, const proto::JobProgress& progress,
                       const std::optional<WholeModelResult>& whole = std::nullopt);
// The output of --detach.
std::string SubmittedJson(const proto::SubmitJobReply& reply);

// The result of timing runners-up in the whole model, one line for people.
std::string WholeModelText(const WholeModelResult& result);

// The folder of the library that this command names.
std::string LibraryFolder(const TuneOptions& options);
// The command that compiles the model with the result.
std::string CompileCommand(const TuneOptions& options);

}  // namespace mlc::client
