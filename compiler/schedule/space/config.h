// A config: one point of a family's space, as text. Family and version come first, then every knob
// by name, in the space's order:
//   contraction/1 mr=14 nr=2 order=1 kc=0
// Knob values are integers; a named choice is the number of its word in the family's list. Only
// user-supplied kernels (compiler/schedule/cuda/user_kernel/user_kernel.h) have words after the
// integers. At most 64 knobs. A value; Parse(ToText(c)) == c.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace mlc::schedule {

// The family name of user-supplied kernels.
inline constexpr std::string_view kUserKernel = "user_kernel";

struct Config {
  std::string family;
  int version = 1;
  std::vector<std::pair<std::string, int64_t>> knobs;
  std::vector<std::pair<std::string, std::string>> words = {};

  // REQUIRES: the knob exists.
  int64_t operator[](std::string_view knob) const;
  std::string ToText() const;
  static Result<Config> Parse(std::string_view text);
  friend bool operator==(const Config&, const Config&) = default;
};

}  // namespace mlc::schedule
