// Control groups, which limit what the processes of a container or a Slurm job may use: cgroups(7),
// of version 2 and version 1. Thread-safe.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace mlc::target {

// Returns the folders of all groups of this process that may have `controller` ("cpu", "memory");
// the limits of all of them apply. Reads proc/self/cgroup and names folders of sys/fs/cgroup, both
// below `root`. Some of the folders may not exist.
std::vector<std::filesystem::path> ControlGroups(const std::filesystem::path& root,
                                                 const std::string& controller);

}  // namespace mlc::target
