// Trials without a server: for people who look at one config, and for the worker's self-test.
#pragma once

#include <string>
#include <vector>

#include "base/measurement.h"
#include "base/status.h"
#include "worker/engine/engine.h"

namespace mlc::worker {

// The config that a build without a log uses. NOT_FOUND if no family covers the workload.
Result<std::string> DefaultConfig(const std::string& workload, const target::Target& target);

// The same trial `repeat` times, one after the other.
std::vector<Measurement> RunTrial(Engine& engine, const Trial& trial, int repeat);

// For programs, and for people.
std::string ToJson(const Measurement& measurement);
std::string ToLine(const Measurement& measurement, double flops);

// A small workload whose every outcome is known runs through the whole pipeline, on every target.
// The error names what does not work.
Status SelfTest(Engine& engine);

}  // namespace mlc::worker
