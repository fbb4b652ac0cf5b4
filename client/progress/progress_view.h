// The text that a person sees of a job, from its progress and what the client knows of its tasks.
// Pure; writes to no terminal.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "client/progress/job_figures.h"
#include "proto/tuner.pb.h"

namespace mlc::client {

// "412 us", "3.21 ms".
std::string TimeText(double ns);

// One line, for logs and pipes.
std::string ProgressLine(const ModelInfo& model, const proto::JobProgress& progress);
// The line that is shown while the server is away.
std::string WaitingLine(std::chrono::seconds waited);
// Lines of a block for a terminal, the heaviest tasks first; each at most `width` wide, at most
// `height` of them.
std::vector<std::string> ProgressBlock(const ModelInfo& model, const proto::JobProgress& progress,
                                       int width, int height);
// The same while the server is away: the last progress, with WaitingLine in place of the totals.
std::vector<std::string> WaitingBlock(const ModelInfo& model, const proto::JobProgress& progress,
                                      std::chrono::seconds waited, int width, int height);
// The gains of the tasks, at the end.
std::string FinalTable(const ModelInfo& model, const proto::JobProgress& progress);
// Which variant of the model is the fastest, and by how much; empty if there is only one.
std::string VariantsText(const ModelInfo& model, const JobFigures& figures);

}  // namespace mlc::client
