// The result of one trial: workers report it, the log stores it and the search learns from it. A
// value. Times are nanoseconds of one execution of the kernel, and 0 if the outcome has no time. A
// new field is a member and a row of kMeasurementFields, and a field of proto/common.proto: the
// log, exported lines, digests, both wires and their tests follow from the table.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>

#include "base/fields.h"
#include "base/outcome.h"

namespace mlc {

// A trial that takes longer than this factor times the best known time may end early. The search
// sends the product with each trial as early_stop_ns, so workers know the best time.
inline constexpr double kEarlyStopFactor = 1.3;

struct Measurement {
  Outcome outcome = Outcome::kInfra;
  // kOk: median of `runs` executions with warm caches. kTooSlow: the shortest execution seen before
  // the trial stopped early, a lower bound for learning and never a best.
  double median_ns = 0;
  double p10_ns = 0;
  double p90_ns = 0;
  int32_t runs = 0;
  // Median with operands evicted from the caches before each execution; 0 when not taken.
  double cold_ns = 0;
  // Largest |difference| to the reference over the largest |reference|.
  double max_error = 0;
  double build_ms = 0;
  // Clock of the measuring core while timing, from a calibrated dependent chain; 0 when unknown.
  double clock_mhz = 0;
  // Machine speed while timing, relative to the best seen by this worker (probe kernels; on a GPU
  // the clock): 1 if undisturbed, less if disturbed or throttled.
  double machine_speed = 1;
  // Compiler message, signal name or wrong element; at most 16 KiB; empty for kOk.
  std::string detail;
  // The device time of the trial: checks, timings, and its share of the time for which the device
  // waited while there were trials for it; 0 in records of schema version 1.
  double device_ms = 0;
};

// Limits of the log: for a best time, and for other times.
inline constexpr double kMaxTimeNs = 1e12;
inline constexpr double kMaxLongTimeNs = 1e15;

// In the order of the log's columns. New rows go to the end.
inline constexpr std::tuple kMeasurementFields{
    Field{&Measurement::outcome, {.name = "outcome", .label = "outcome"}},
    Field{&Measurement::median_ns, {.name = "median_ns", .label = "median", .unit = "ns"}},
    Field{&Measurement::p10_ns,
          {.name = "p10_ns", .label = "p10", .unit = "ns", .limit = kMaxTimeNs}},
    Field{&Measurement::p90_ns,
          {.name = "p90_ns", .label = "p90", .unit = "ns", .limit = kMaxLongTimeNs}},
    Field{&Measurement::runs, {.name = "runs", .label = "number of runs"}},
    Field{&Measurement::cold_ns,
          {.name = "cold_ns", .label = "cold", .unit = "ns", .limit = kMaxLongTimeNs}},
    Field{&Measurement::max_error, {.name = "max_error", .label = "largest error"}},
    Field{&Measurement::build_ms,
          {.name = "build_ms", .label = "build", .unit = "ms", .listed = true}},
    Field{&Measurement::clock_mhz,
          {.name = "clock_mhz", .label = "clock", .unit = "MHz", .listed = true}},
    Field{&Measurement::machine_speed,
          {.name = "machine_speed", .label = "machine speed", .listed = true}},
    Field{&Measurement::detail, {.name = "detail", .label = "detail"}},
    Field{&Measurement::device_ms,
          {.name = "device_ms", .label = "device", .unit = "ms", .listed = true, .since = 2}},
};

// visit(const FieldInfo&, value) for each field. `measurement` may be const.
template <MaybeConst<Measurement> M, typename Visit>
void VisitFields(M& measurement, Visit&& visit) {
  VisitTable(kMeasurementFields, measurement, std::forward<Visit>(visit));
}

}  // namespace mlc
