// The last step of tuning for a GPU of this machine. It times the runners-up of the heaviest tasks
// (runners_up.h) in the whole model, and stores those that make it faster in the log. mlc-compile
// and mlc-run beside this program build and run each library, several builds during one run, so
// that a crash or hang ends only a child. Use it from one thread.
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
  Digest job;                            // job that the records name
  std::string programs;                  // folder of mlc-compile and mlc-run; empty: this one's
  int device = 0;                        // number of the GPU, as the driver counts
  int most = 0;                          // largest number of runners-up
  int64_t budget_ms = 0;                 // no runner-up starts after it
};

struct WholeModelResult {
  double before_ms = 0;  // latency of the model, medians of event times
  double after_ms = 0;
  int tried = 0;
  int taken = 0;
};

// Blocks for about `budget_ms` at most. On an error the log is unchanged; CANCELLED if `stop` was
// requested.
Result<WholeModelResult> TryInWholeModel(const WholeModelOptions& options,
                                         const std::stop_token& stop);

}  // namespace mlc::client
