// The text of a job's progress, from its messages and the client's data of its tasks. Pure; writes
// to no terminal.
#pragma once

#include <chrono>
#include <string>

#include "client/progress/task_table.h"
#include "proto/tuner.pb.h"
#include "server/state/job_figures.h"

namespace mlc::client {

// One line, for logs and pipes. `seconds_left`: 0 if unknown.
std::string ProgressLine(const server::ModelInfo& model, const proto::JobProgress& progress,
                         double seconds_left = 0);
// The two parts of that line: how far the job is, and remarks, which may be empty.
std::string CourseText(const server::JobFigures& figures, const proto::JobProgress& progress,
                       double seconds_left);
std::string RemarksText(const proto::JobProgress& progress);
// "0:25", "1h02m".
std::string ClockText(double seconds);
// The line that is shown while the server is unreachable.
std::string WaitingLine(std::chrono::seconds waited);
// The gains of the tasks, at the end.
std::string FinalTable(const server::ModelInfo& model, const proto::JobProgress& progress);
// Which variant of the model is the fastest, and by how much; empty if there is only one.
std::string VariantsText(const server::ModelInfo& model, const server::JobFigures& figures);

}  // namespace mlc::client
