// The build children of an engine: starts them, watches them and takes what they built. What a
// child does is its device's matter. Not thread-safe. REQUIRES: the process has one thread.
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
  int builders = 1;  // children at a time
  bool sandbox = true;
  int64_t memory_bytes = 0;  // of a child
  int64_t timeout_ms = 0;    // of CPU time; deadlines by the clock are longer (child_limits.h)
};

class Builders {
 public:
  explicit Builders(const BuilderOptions& options);

  int most() const { return options_.builders; }
  // Starts builds of jobs that are queued, in their order, as CPUs allow. References are made
  // beside them.
  void Start(std::list<Job>& jobs, ReferenceStore& references);
  // For poll().
  static void AddTo(const std::list<Job>& jobs, std::vector<pollfd>& waiting);
  // Takes what the job's child sent. Once it has ended the job is built, or this is how it failed.
  std::optional<Measurement> Collect(Job& job);

  // Stops all children, until Continue.
  static void Stop(std::list<Job>& jobs);
  static void Continue(std::list<Job>& jobs);

 private:
  bool StartOne(Job& job);
  std::optional<Measurement> Finish(Job& job, bool timed_out) const;

  BuilderOptions options_;
  build::ChildWork work_;
  std::chrono::milliseconds timeout_;  // by the clock
};

}  // namespace mlc::worker
