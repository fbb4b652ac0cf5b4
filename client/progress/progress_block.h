// The lines that a terminal shows of a running job: the heaviest tasks, the latency over time, the
// current trials, and the totals. Pure; writes to no terminal.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "client/progress/job_history.h"
#include "client/progress/progress_view.h"
#include "client/progress/text_columns.h"

namespace mlc::client {

// The size limit of a block: at most `rows` lines of at most `columns` columns.
struct BlockRoom {
  size_t columns = 100;
  size_t rows = 24;
  Charset charset = Charset::kAscii;
};

// The totals are the last line. If there is room for one line only, they are that line.
std::vector<std::string> ProgressBlock(const server::ModelInfo& model,
                                       const proto::JobProgress& progress,
                                       const JobHistory& history, const BlockRoom& room);
// The same while the server is unreachable: the last progress, with WaitingLine instead of the
// totals.
std::vector<std::string> WaitingBlock(const server::ModelInfo& model,
                                      const proto::JobProgress& progress, const JobHistory& history,
                                      std::chrono::seconds waited, const BlockRoom& room);

}  // namespace mlc::client
