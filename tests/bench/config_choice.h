// Which configs a benchmark of kernels tries: those that its user names, or random ones.
#pragma once

#include <string>
#include <vector>

#include "base/rng.h"
#include "compiler/schedule/space/family.h"

namespace mlc::bench {

// Texts of configs with ';' between them. One that does not parse is left out and told on stdout.
std::vector<schedule::Config> NamedConfigs(const std::string& texts);

// The default of each family, then so many different legal configs drawn from its space that the
// families have equal parts of `count`.
std::vector<schedule::Config> RandomConfigs(const std::vector<const schedule::Family*>& families,
                                            const graph::Workload& workload,
                                            const target::Target& target, size_t count, Rng rng);

}  // namespace mlc::bench
