// Limits of workloads from untrusted sources, so that opening their spaces takes little time and
// memory. A short text can require much work: in a chain whose nodes each read the previous one
// twice at different coordinates, the number of values doubles with each node. The limits are far
// above the tasks of real models. Thread-safe.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "compiler/graph/workload.h"

namespace mlc::schedule {

struct WorkloadLimits {
  static constexpr int kValues = 2048;      // including sources
  static constexpr int kComputed = 1024;    // bounds the depth of recursion
  static constexpr int kOutputs = 16;       // each may be cut into pieces
  static constexpr size_t kOperands = 512;  // of one node
  static constexpr double kPlaces = 1024;   // see PlacesToCompute
  static constexpr double kTaps = 1 << 16;  // of one window
  static constexpr double kBytes = 1e12;    // of operands and outputs
  static constexpr double kFlops = 1e15;    // more than a second of the fastest device
};

// The number of values that a kernel computes for one output point: a value counts once for each
// path of coordinates from an output to it. Infinite above a limit.
double PlacesToCompute(const graph::Workload& workload);

// INVALID_ARGUMENT, with the exceeded limit and the value of the workload.
Status CheckAdmissible(const graph::Workload& workload);

}  // namespace mlc::schedule
