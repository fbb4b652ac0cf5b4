// Shows the progress of a job while it runs: a block that is redrawn on a terminal, else a line
// every 10 s, both on standard error; or JSON lines on standard output. Use it from one thread.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/status.h"
#include "client/progress/progress_view.h"

namespace mlc::client {

enum class ProgressStyle : uint8_t { kNone, kPlain, kTerminal, kJsonLines };

class ProgressOutput {
 public:
  ProgressOutput(ProgressStyle style, ModelInfo model) : style_(style), model_(std::move(model)) {}

  // An error of transport::FlushOutput if the JSON lines cannot be written.
  Status Show(const proto::JobProgress& progress);
  // Shows that the server is away; the next Show says that it is back.
  void ShowWaiting(std::chrono::seconds waited);
  // Leaves the last state on the screen.
  void Finish(const proto::JobProgress& progress);

 private:
  void Draw(const std::vector<std::string>& lines, size_t columns);

  ProgressStyle style_;
  ModelInfo model_;
  std::chrono::steady_clock::time_point last_;
  bool shown_ = false;
  bool waiting_ = false;
  proto::JobProgress seen_;    // last progress that Show got, on a terminal
  std::vector<size_t> drawn_;  // lengths of the lines on the terminal, the cursor below them
};

}  // namespace mlc::client
