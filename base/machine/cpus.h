// How many CPUs this process may use. Thread-safe.
#pragma once

#include <filesystem>

namespace mlc::target {

// The CPUs of the affinity mask (taskset(1), cpusets of containers, Slurm), limited by the quota of
// the control groups, rounded up. At least 1. The C++ library counts all CPUs of the machine
// instead; threads beyond the usable CPUs would spin while they wait for one another.
int UsableCpus();

// One thread for each usable core of one socket, limited by the quota: see topology.h.
int DefaultThreads();

// The number of threads that a flag means: `asked`, or the default if it is 0.
inline int ThreadsFor(int asked) { return asked > 0 ? asked : DefaultThreads(); }

// The smallest quota of the control groups of this process, in CPUs; 0 if there is none. `root`:
// see control_groups.h. Reads cpu.max of version 2 and cpu.cfs_quota_us of version 1.
double CpuQuota(const std::filesystem::path& root);

}  // namespace mlc::target
