// Prints the result of mlc-tune to standard output and returns its exit code. Use it from one
// thread.
#pragma once

#include <optional>
#include <string>

#include "base/exit_code.h"
#include "base/status.h"
#include "client/local/whole_model.h"
#include "client/tune/options/tune_options.h"
#include "proto/tuner.pb.h"
#include "server/state/job_figures.h"

namespace mlc::client {

// For a job that has ended. INTERNAL if the job failed.
Result<ExitCode> Ended(const TuneOptions& options, const std::string& job,
                       const server::ModelInfo& model, const proto::JobProgress& progress,
                       const std::optional<WholeModelResult>& whole = std::nullopt);

}  // namespace mlc::client
