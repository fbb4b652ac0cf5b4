// What a terminal shows of a job while it runs: the heaviest tasks, the course of the latency, what
// is being tried, and the totals. Pure; writes to no terminal.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "client/progress/job_history.h"
#include "client/progress/progress_view.h"
#include "client/progress/text_columns.h"

namespace mlc::client {

// The room for a block. Each line has at most `columns`, and there are at most `rows` of them.
struct BlockRoom {
  size_t columns = 100;
  size_t rows = 24;
  Charset charset = Charset::kAscii;
};

// The totals are the last line, and the only one where there is no room for more.
std::vector<std::string> ProgressBlock(const server::ModelInfo& model,
                                       const proto::JobProgress& progress,
                                       const JobHistory& history, const BlockRoom& room);
// The same while the server is away: the last progress, with WaitingLine in place of the totals.
std::vector<std::string> WaitingBlock(const server::ModelInfo& model,
                                      const proto::JobProgress& progress, const JobHistory& history,
                                      std::chrono::seconds waited, const BlockRoom& room);

}  // namespace mlc::client
