// How much memory this process may use. Thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>

namespace mlc::target {

// The memory of the machine in bytes, limited by the control groups of this process. Linux ends a
// container that uses more than its limit, however large the machine is.
int64_t UsableMemory();

// The smallest limit of the control groups of this process, in bytes; 0 if there is none. `root`:
// see control_groups.h.
int64_t MemoryLimit(const std::filesystem::path& root);

}  // namespace mlc::target
