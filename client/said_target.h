// What mlc-tune says of the target that it chose by itself.
#pragma once

#include <iostream>

#include "client/auto_target.h"
#include "client/tune_options.h"

namespace mlc::client {

// On stderr, where progress goes, unless there is to be none.
inline void SayTarget(const TuneOptions& options, const AutoTarget& chosen) {
  if (!options.quiet && !options.json_lines) std::cerr << chosen.Line() << std::endl;
}

}  // namespace mlc::client
