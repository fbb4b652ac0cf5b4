// How a trial ended. All outcomes but kInfra are facts about a config, and the log stores them.
// kInfra is a fact about a worker: it is counted, the trial is repeated, and the log never stores
// it. The numbers are those of the log and of the wire and never change their meaning. Pure;
// thread-safe.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"

namespace mlc {

enum class Outcome : uint8_t {
  kOk = 0,            // built, checked, timed
  kBuildError = 1,    // the compiler refused it or crashed on it
  kBuildTimeout = 2,  // the compiler did not end in time
  kRunError = 3,      // the kernel crashed its process
  kRunTimeout = 4,    // the kernel did not end in time
  kWrongResult = 5,   // outside the tolerance of the reference
  kTooSlow = 6,       // stopped early: correct, dropped after a short measurement (see Measurement)
  kInfra = 7,         // worker lost, out of memory, cancelled: never a candidate's fault
};

// "ok", "build_error", "build_timeout", "run_error", "run_timeout", "wrong_result", "too_slow",
// "infra".
std::string_view ToText(Outcome outcome);
Result<Outcome> ParseOutcome(std::string_view text);

}  // namespace mlc
