// A log as a job leaves it, with made-up times of real configs: two products that a model executes
// once and three times.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "compiler/graph/workload.h"
#include "db/record.h"

namespace mlc::report {

// What no page may take as markup: an element, quotes, control characters, broken UTF-8, a change
// of the direction of text.
inline constexpr std::string_view kHostile =
    "</title><script>alert(1)</script>\"'&\x01\x1b\x7f\xff\xe2\x80\xae end";

struct TuningLogOptions {
  int64_t trials = 40;   // over both tasks, the last one of each a failure
  bool hostile = false;  // names, messages and words of the log are kHostile
};

// "a 64 x 128 by 128 x `columns` product" of fp32.
graph::Workload ProductWorkload(int64_t columns);

// Writes a new log with one job, whose model is "model.onnx" unless hostile; gives the job. Times
// fall from 9000 ns (the default, the first of a task) to 3000 ns (the last correct one).
Result<db::JobRow> WriteTuningLog(const std::string& path, const TuningLogOptions& options);

}  // namespace mlc::report
