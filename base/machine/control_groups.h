// Control groups, which limit what the processes of a container or a Slurm job may use: cgroups(7),
// of version 2 and version 1. Thread-safe.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace mlc::target {

// The folders of the groups above this process that may have a controller ("cpu", "memory"): the
// limits of all of them hold. Reads proc/self/cgroup and names folders in sys/fs/cgroup below
// `root`, some of which may not be there.
std::vector<std::filesystem::path> ControlGroups(const std::filesystem::path& root,
                                                 const std::string& controller);

}  // namespace mlc::target
