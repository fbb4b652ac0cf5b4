// Trials without a server: for users who examine one config, and for the self-test of the worker.
// Not thread-safe.
#pragma once

#include <string>
#include <vector>

#include "base/measurement.h"
#include "base/status.h"
#include "worker/engine/engine.h"

namespace mlc::worker {

// The config that a build without a log uses. NOT_FOUND if no family covers the workload.
Result<std::string> DefaultConfig(const std::string& workload, const target::Target& target);

// Runs the same trial `repeat` times in sequence.
std::vector<Measurement> RunTrial(Engine& engine, const Trial& trial, int repeat);

// The measurement as JSON, and as one line for the user.
std::string ToJson(const Measurement& measurement);
std::string ToLine(const Measurement& measurement, double flops);

// Runs a small workload with known outcomes through the whole pipeline, on every target. The error
// names what does not work.
Status SelfTest(Engine& engine);

}  // namespace mlc::worker
