// The last step of tuning for a GPU of this machine: the runners-up of the heaviest tasks (see
// runners_up.h) are timed in the whole model, and what makes it faster is kept in the log. The
// programs mlc-compile and mlc-run beside this one build and run each library, several builds
// beside one run, so that a crash or a hang ends a child alone.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "base/digest.h"
#include "base/status.h"

namespace mlc::client {

struct WholeModelOptions {
  std::vector<std::string> model_words;  // TuneOptions::ModelWords()
  std::string log;                       // no other process writes it
  Digest job;                            // that the records are said to be of
  std::string programs;                  // folder of mlc-compile and mlc-run; empty: this one's
  int device = 0;                        // as the driver counts
  int most = 0;                          // runners-up
  int64_t budget_ms = 0;                 // none is begun after it
};

struct WholeModelResult {
  double before_ms = 0;  // latency of the model, medians of event times
  double after_ms = 0;
  int tried = 0;
  int taken = 0;
};

// Blocks for about `budget_ms` at most. The log is as it was on any error, CANCELLED among them if
// `stop` was requested.
Result<WholeModelResult> TryInWholeModel(const WholeModelOptions& options,
                                         const std::stop_token& stop);

}  // namespace mlc::client
