// The last step of tuning for a GPU of this machine. It times the runners-up of the heaviest tasks
// (runners_up.h) in the whole model, and stores those that make it faster in the log. Each library
// differs from the first one in one kernel, so that all its other device code is in the cache.
// Several are built while others are timed (model_programs.h). Use it from one thread.
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
  int64_t budget_ms = 0;                 // of all that is done
  std::string cubin_cache = {};          // value of --cubin-cache
  // Folder that the user's library will have: of one with the same name, mlc-compile finds device
  // code in the cache.
  std::string library = "model";
};

struct WholeModelResult {
  double before_ms = 0;  // latency of the model, medians of event times
  double after_ms = 0;
  int asked = 0;  // runners-up that there were
  int tried = 0;
  int taken = 0;
  double seconds = 0;  // that it took
};

// Blocks for about `budget_ms` at most. On an error the log is unchanged; CANCELLED if `stop` was
// requested.
Result<WholeModelResult> TryInWholeModel(const WholeModelOptions& options,
                                         const std::stop_token& stop);

}  // namespace mlc::client
