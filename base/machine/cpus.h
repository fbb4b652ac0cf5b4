// How many CPUs this process may use. Thread-safe.
#pragma once

#include <filesystem>

namespace mlc::target {

// Those of its affinity mask (taskset(1), cpusets of containers, Slurm), and no more than the quota
// of its control groups, rounded up. At least 1. The C++ library counts the machine's CPUs
// instead: more threads than may run at once wait for one another by spinning.
int UsableCpus();

// One for each core of one socket among the usable CPUs, as far as the quota goes: see
// topology.h.
int DefaultThreads();

// What a flag for a number of threads means: `asked`, or the default where it is 0.
inline int ThreadsFor(int asked) { return asked > 0 ? asked : DefaultThreads(); }

// The least quota of the control groups above this process, in CPUs; 0 where none is set.
// `root`: see control_groups.h; cpu.max of version 2, cpu.cfs_quota_us of version 1.
double CpuQuota(const std::filesystem::path& root);

}  // namespace mlc::target
