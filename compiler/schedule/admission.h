// Limits of workloads from untrusted sources: opening its spaces costs little time and memory,
// whatever its text says. A short text can ask for much: a chain in which every node reads the one
// before it twice at different coordinates has more places to compute than memory holds. Far above
// all that the partition of a model makes. Thread-safe.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "compiler/graph/workload.h"

namespace mlc::schedule {

struct WorkloadLimits {
  static constexpr int kValues = 2048;      // with sources
  static constexpr int kComputed = 1024;    // recursion goes as deep
  static constexpr int kOutputs = 16;       // each may be cut in pieces
  static constexpr size_t kOperands = 512;  // of one node
  static constexpr double kPlaces = 1024;   // see PlacesToCompute
  static constexpr double kTaps = 1 << 16;  // of one window
  static constexpr double kBytes = 1e12;    // of operands and outputs
  static constexpr double kFlops = 1e15;    // more than a second of the fastest device
};

// How many values a kernel computes at one point: each value once for every way that coordinates
// take from an output to it. Infinite from some number on.
double PlacesToCompute(const graph::Workload& workload);

// INVALID_ARGUMENT that names the limit and what the workload has.
Status CheckAdmissible(const graph::Workload& workload);

}  // namespace mlc::schedule
