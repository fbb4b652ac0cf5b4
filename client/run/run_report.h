// The report of mlc-run as text and as one JSON document. Values and pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "client/model/dims.h"
#include "compiler/graph/graph.h"

namespace mlc::client {

struct LatencyStatistics {
  double median = 0;  // milliseconds
  double p10 = 0;
  double p90 = 0;
  int runs = 0;
};
LatencyStatistics Summarize(std::vector<double> milliseconds);

struct OutputCheck {
  std::string name;
  // Largest |difference| over the largest |reference|; infinite when types or NaNs disagree.
  double max_relative = 0;
  bool passed = false;
};

// Passes when |difference| <= atol + rtol * max|reference| everywhere.
Result<std::vector<OutputCheck>> CheckOutputs(const std::vector<graph::TensorDataRef>& actual,
                                              const std::vector<graph::TensorDataRef>& expected,
                                              const std::vector<std::string>& names, double rtol,
                                              double atol);

struct ProfileRow {
  std::string label;
  double median_us = 0;  // sum over all steps with the label
  int calls = 0;
};

// One kernel of a run, in the order of execution.
struct StepTime {
  std::string label;
  double median_us = 0;
  double p10_us = 0;
  double p90_us = 0;
};

// Another library, timed in turns with the one that is reported.
struct BesideRow {
  std::string library;
  LatencyStatistics latency;
  double quotient = 1;  // of its time and that of the reported one; median over rounds
  int rounds = 0;
  std::string error;  // why it was not timed; empty: it was
};

struct RunReport {
  Dims sizes;  // of a library of several sizes; empty: it has one
  int threads = 0;
  int device = -1;  // the GPU; -1 for the CPU
  double load_ms = 0;
  int64_t session_bytes = 0;
  std::optional<LatencyStatistics> latency;
  std::vector<OutputCheck> checks;
  std::vector<ProfileRow> profile;  // longest first
  std::vector<StepTime> steps;      // of the profile
  std::vector<BesideRow> beside;
  double run_us = 0;  // median of whole runs without profiling; 0 if there is no profile
};

std::string ToText(const RunReport& report);
std::string ToJson(const RunReport& report);
// Of runs at several sizes: one after the other, or a JSON array. One report: as it is.
std::string ToText(const std::vector<RunReport>& reports);
std::string ToJson(const std::vector<RunReport>& reports);

}  // namespace mlc::client
