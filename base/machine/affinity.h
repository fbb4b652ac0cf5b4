// The CPUs that a thread may run on, for any number of CPUs. Thread-safe.
#pragma once

#include <span>
#include <vector>

namespace mlc::target {

// The CPUs of the calling thread, ascending; empty if the system does not tell.
std::vector<int> AllowedCpus();

// Binds the calling thread and the threads that it starts later. False if the system refuses.
bool KeepTo(std::span<const int> cpus);

}  // namespace mlc::target
