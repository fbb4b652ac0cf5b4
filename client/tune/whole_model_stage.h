// The last stage of tuning for a GPU of this machine: runners-up are timed in the whole model.
#pragma once

#include <optional>
#include <stop_token>
#include <string>

#include "client/local/whole_model.h"
#include "client/tune/options/tune_options.h"
#include "proto/tuner.pb.h"

namespace mlc::client {

// Nothing if the options or what was measured leave nothing to time. What goes wrong costs nothing
// that was measured before, and is said on standard error.
std::optional<WholeModelResult> TryRunnersUp(const TuneOptions& options, const std::string& job,
                                             const proto::JobProgress& progress,
                                             const std::stop_token& stop);

}  // namespace mlc::client
