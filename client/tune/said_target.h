// Prints the target and the CPUs that mlc-tune chose.
#pragma once

#include <iostream>

#include "base/machine/topology.h"
#include "client/target/auto_target.h"
#include "client/tune/options/tune_options.h"

namespace mlc::client {

// Prints to stderr, unless progress is off.
inline void SayTarget(const TuneOptions& options, const AutoTarget& chosen) {
  if (!options.quiet && !options.json_lines) std::cerr << chosen.Line() << std::endl;
}

// Prints the CPUs of this machine that the kernels' threads will have.
inline void SayPlaces(const TuneOptions& options, int threads) {
  if (options.quiet || options.json_lines) return;
  std::cerr << target::DescribePlaces(target::UsablePlaces(), threads) << std::endl;
}

}  // namespace mlc::client
