// What mlc-tune says of the target and of the CPUs that it chose by itself.
#pragma once

#include <iostream>

#include "base/machine/topology.h"
#include "client/target/auto_target.h"
#include "client/tune/options/tune_options.h"

namespace mlc::client {

// On stderr, where progress goes, unless there is to be none.
inline void SayTarget(const TuneOptions& options, const AutoTarget& chosen) {
  if (!options.quiet && !options.json_lines) std::cerr << chosen.Line() << std::endl;
}

// Which CPUs of this machine the kernels' threads will have.
inline void SayPlaces(const TuneOptions& options, int threads) {
  if (options.quiet || options.json_lines) return;
  std::cerr << target::DescribePlaces(target::UsablePlaces(), threads) << std::endl;
}

}  // namespace mlc::client
