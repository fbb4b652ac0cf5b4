// The CPUs that a thread may run on, of machines with any number of them. Thread-safe.
#pragma once

#include <span>
#include <vector>

namespace mlc::target {

// Of the calling thread, ascending; empty where that cannot be read.
std::vector<int> AllowedCpus();

// Binds the calling thread, and those that it starts from now on. False where that is refused.
bool KeepTo(std::span<const int> cpus);

}  // namespace mlc::target
