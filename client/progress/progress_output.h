// Shows the progress of a running job: on a terminal, a block that is redrawn; otherwise a line
// every 10 s. Both go to standard error. Alternatively, JSON lines on standard output. Use it from
// one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <utility>

#include "base/status.h"
#include "client/progress/job_history.h"
#include "client/progress/progress_view.h"
#include "client/progress/terminal_block.h"
#include "client/progress/text_columns.h"

namespace mlc::client {

enum class ProgressStyle : uint8_t { kNone, kPlain, kTerminal, kJsonLines };

// How to show progress, from the flags, the terminal and its locale.
struct ProgressForm {
  ProgressStyle style = ProgressStyle::kPlain;
  Charset charset = Charset::kAscii;
};

class ProgressOutput {
 public:
  ProgressOutput(ProgressForm form, server::ModelInfo model)
      : form_(form), model_(std::move(model)) {}

  // An error of transport::FlushOutput if the JSON lines cannot be written.
  Status Show(const proto::JobProgress& progress);
  // Shows that the server is unreachable; the next Show ends that.
  void ShowWaiting(std::chrono::seconds waited);
  // Leaves the last state on the screen.
  void Finish(const proto::JobProgress& progress);

 private:
  void Draw(const proto::JobProgress& progress);
  void DrawWaiting(std::chrono::seconds waited);

  ProgressForm form_;
  server::ModelInfo model_;
  JobHistory history_;
  TerminalBlock block_;
  std::chrono::steady_clock::time_point last_;
  bool shown_ = false;
  bool waiting_ = false;
  proto::JobProgress seen_;  // last progress that Show got, on a terminal
};

}  // namespace mlc::client
