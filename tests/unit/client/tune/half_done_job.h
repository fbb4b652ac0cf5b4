// A job that runs: half of its trials are done, as many for each task.
#pragma once

#include <initializer_list>

#include "compiler/target/target.h"
#include "proto/tuner.pb.h"

namespace mlc::client {

// 50 of 100 trials. A task for each best time in ns; its default takes twice as long.
inline proto::JobProgress HalfDoneJob(std::initializer_list<double> best_ns) {
  target::Target target;
  target.fma_gflops = 100;
  target.copy_gbps = 10;
  proto::JobProgress progress;
  progress.set_target(target.ToText());
  progress.set_trials(50);
  progress.set_trials_wanted(100);
  for (const double best : best_ns) {
    proto::TaskProgress& task = *progress.add_tasks();
    task.set_best_ns(best);
    task.set_default_ns(2 * best);
    task.set_trials(25);
  }
  return progress;
}

}  // namespace mlc::client
