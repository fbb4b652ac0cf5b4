// The least time that a workload can take on a target: peak arithmetic, or the copy bandwidth where
// its operands cannot all stay in the last cache. Pure; thread-safe.
#pragma once

#include "compiler/graph/workload.h"
#include "compiler/target/target.h"

namespace mlc::costmodel {

// The inputs of a roofline.
struct RooflineInput {
  double flops = 0;
  double min_bytes = 0;
  bool narrow = false;  // it reads 16-bit floating point
};

RooflineInput RooflineInputOf(const graph::Workload& workload);

// Gflop/s; 0 if unknown.
double PeakGflops(const RooflineInput& task, const target::Target& target);
// True if each execution reads the operands from memory.
bool Streams(const RooflineInput& task, const target::Target& target);
// 0 if unknown.
double RooflineNs(const RooflineInput& task, const target::Target& target);

}  // namespace mlc::costmodel
