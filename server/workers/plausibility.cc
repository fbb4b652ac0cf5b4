#include "server/workers/plausibility.h"

#include <cmath>
#include <cstdio>

namespace mlc::server {
namespace {

// A step of a search rarely gains more; a broken clock or a forged result does.
constexpr double kOutOfLine = 3;
// Two measurements of one config on one class of device, and of a model that expected it.
constexpr double kSame = 2;

std::string Microseconds(double ns) {
  char text[40];
  std::snprintf(text, sizeof(text), "%.3f us", ns / 1e3);
  return text;
}

}  // namespace

bool Contradicts(double claim_ns, double second_ns) {
  return claim_ns > 0 && second_ns > kOutOfLine * claim_ns;
}

std::string Doubt(const Measurement& m, const Known& known) {
  if (m.outcome != Outcome::kOk) return {};
  if (m.median_ns < known.floor_ns) {
    return Microseconds(m.median_ns) + " is below what the device can do (" +
           Microseconds(known.floor_ns) + ")";
  }
  const bool expected = known.predicted_ns > 0 && m.median_ns * kSame >= known.predicted_ns;
  if (known.best_ns <= 0 || expected) return {};
  if (m.median_ns * kOutOfLine >= known.best_ns) return {};
  return Microseconds(m.median_ns) + " is far ahead of the best of " +
         std::to_string(known.results) + " results, or of earlier jobs (" +
         Microseconds(known.best_ns) + ")";
}

Confirmation Compare(const Measurement& claim, const Measurement& second, double floor_ns) {
  const bool timed = second.outcome == Outcome::kOk;
  if (timed && second.median_ns < floor_ns) return Confirmation::kImpossible;
  if (!timed || claim.median_ns < floor_ns) return Confirmation::kDiffers;
  return second.median_ns <= claim.median_ns * kSame ? Confirmation::kAgrees
                                                     : Confirmation::kDiffers;
}

Measurement Slower(const Measurement& claim, const Measurement& second, const std::string& detail) {
  Measurement kept = claim.median_ns >= second.median_ns ? claim : second;
  kept.detail = detail;
  return kept;
}

Status EvaluateCanary(const Measurement& m, double expected_ns, double factor) {
  if (m.outcome != Outcome::kOk) {
    return Internal("the canary ended as " + std::string(ToText(m.outcome)) +
                    (m.detail.empty() ? "" : ": " + m.detail.substr(0, 200)));
  }
  if (!std::isfinite(m.median_ns) || m.median_ns <= 0)
    return Internal("its time is not a positive number");
  if (expected_ns <= 0) return Status();
  const double ratio = m.median_ns / expected_ns;
  if (ratio <= factor && ratio >= 1 / factor) return Status();
  char text[120];
  std::snprintf(text, sizeof(text), "%.3f us, and other workers of its class take %.3f us",
                m.median_ns / 1e3, expected_ns / 1e3);
  return Internal(text);
}

}  // namespace mlc::server
