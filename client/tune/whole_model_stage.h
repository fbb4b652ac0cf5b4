// The last stage of tuning for a GPU of this machine: times runners-up in the whole model. Use it
// from one thread.
#pragma once

#include <optional>
#include <stop_token>
#include <string>

#include "client/local/whole_model.h"
#include "client/tune/options/tune_options.h"
#include "proto/tuner.pb.h"

namespace mlc::client {

// Does nothing if the options or the measurements leave nothing to time. An error loses no earlier
// measurement; it is printed to standard error.
std::optional<WholeModelResult> TryRunnersUp(const TuneOptions& options, const std::string& job,
                                             const proto::JobProgress& progress,
                                             const std::stop_token& stop);

}  // namespace mlc::client
