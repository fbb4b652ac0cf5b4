// The tasks of a job as a table. Pure; thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "server/state/job_figures.h"

namespace mlc::client {

// "412 us", "3.21 ms".
std::string TimeText(double ns);

// The columns that a terminal has room for.
enum class TaskColumns : uint8_t {
  kFew,     // share, best, task
  kUsual,   // and roof, gain, trials, use
  kLabels,  // and the label
};

std::string TaskHeader(TaskColumns columns);
std::string TaskRow(const server::TaskInfo& task, const server::TaskLine& line,
                    TaskColumns columns);
// Indices into the tasks.
std::vector<size_t> HeaviestFirst(const server::JobFigures& figures);
// The legend of the mark behind a share of the roof; empty if no row has the mark.
std::string RoofNote(const server::ModelInfo& model, const server::JobFigures& figures);

}  // namespace mlc::client
