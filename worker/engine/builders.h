// The build children of an engine: starts them, watches them and takes their kernels. The device
// defines what a child does. Not thread-safe. REQUIRES: the process has one thread.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <list>
#include <optional>
#include <vector>

#include "base/measurement.h"
#include "base/sandbox/child_limits.h"
#include "worker/engine/job.h"

namespace mlc::worker {

struct BuilderOptions {
  int builders = 1;  // children in parallel
  bool sandbox = true;
  int64_t memory_bytes = 0;  // memory limit of a child
  int64_t timeout_ms = 0;  // limit of CPU time; the wall-clock deadline is longer (child_limits.h)
};

class Builders {
 public:
  explicit Builders(const BuilderOptions& options);

  int most() const { return options_.builders; }
  // Starts builds of queued jobs, in order, as long as CPUs are free. `references`: the makers that
  // share the CPUs.
  void Start(std::list<Job>& jobs, ReferenceStore& references);
  // Adds the descriptors of the children, for poll().
  static void AddTo(const std::list<Job>& jobs, std::vector<pollfd>& waiting);
  // Reads what the job's child sent. Once the child has ended, the job is built, or the returned
  // measurement says how it failed.
  std::optional<Measurement> Collect(Job& job);

  // Stops all children until Continue is called.
  static void Stop(std::list<Job>& jobs);
  static void Continue(std::list<Job>& jobs);

 private:
  bool StartOne(Job& job);
  std::optional<Measurement> Finish(Job& job, bool timed_out) const;

  BuilderOptions options_;
  build::ChildWork work_;
  std::chrono::milliseconds timeout_;  // wall-clock deadline
};

}  // namespace mlc::worker
