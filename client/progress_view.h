// What a person sees of a job: pure text from the job's progress and what the client knows of its
// tasks. No terminal is touched here.
#pragma once

#include <string>
#include <vector>

#include "proto/tuner.pb.h"

namespace mlc::client {

struct TaskInfo {
  std::string workload;  // digest
  std::string summary;
  std::string label;
  int occurrences = 1;
  double flops = 0;
  double min_bytes = 0;
};

struct TaskLine {
  double best_ns = 0;      // of one execution; 0: none yet
  double guess_ns = 0;     // to be expected while there is none; 0: unknown
  double default_ns = 0;   // 0: not measured
  double roofline_ns = 0;  // 0: unknown
  double share = 0;        // of the model's time, 0..1
  int64_t trials = 0;
};

// Derived figures. The model's time is that of the library that could be built now: the best
// measured time of each task, or, where there is none yet, the one to be expected of the config
// that a build would use, which is a near miss from the log or the default. 0 while a task has
// neither.
struct JobFigures {
  std::vector<TaskLine> tasks;
  int missing = 0;  // tasks without a correct kernel
  int untried = 0;  // of them, those without a trial
  double model_ns = 0;
  double measured_share = 0;    // of model_ns
  double default_model_ns = 0;  // measured; 0 until every task's default is
  double trials_per_s = 0;
  double seconds_left = 0;  // 0: unknown
  int64_t failures = 0;
};
JobFigures FiguresOf(const std::vector<TaskInfo>& tasks, const proto::JobProgress& progress);

// "412 us", "3.21 ms".
std::string TimeText(double ns);

// One line, for logs and pipes.
std::string ProgressLine(const std::vector<TaskInfo>& tasks, const proto::JobProgress& progress);
// Lines of a block for a terminal, the heaviest tasks first; each at most `width` wide, at most
// `height` of them.
std::vector<std::string> ProgressBlock(const std::vector<TaskInfo>& tasks,
                                       const proto::JobProgress& progress, int width, int height);
// What was gained and where, at the end.
std::string FinalTable(const std::vector<TaskInfo>& tasks, const proto::JobProgress& progress);

}  // namespace mlc::client
