#include "base/outcome.h"

#include <array>
#include <string>

namespace mlc {

namespace {

constexpr std::array<std::string_view, 8> kNames = {"ok",        "build_error", "build_timeout",
                                                    "run_error", "run_timeout", "wrong_result",
                                                    "too_slow",  "infra"};

}  // namespace

std::string_view ToText(Outcome outcome) { return kNames[static_cast<size_t>(outcome)]; }

Result<Outcome> ParseOutcome(std::string_view text) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == text) return static_cast<Outcome>(i);
  }
  return InvalidArgument("unknown outcome '" + std::string(text) + "'");
}

}  // namespace mlc
