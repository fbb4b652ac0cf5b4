// How much memory this process may use. Thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>

namespace mlc::target {

// Bytes of the machine, and no more than the limits of its control groups: a container of a large
// machine is ended by Linux when it takes more than its own.
int64_t UsableMemory();

// The least limit of the control groups above this process, in bytes; 0 where none is set. `root`:
// see control_groups.h.
int64_t MemoryLimit(const std::filesystem::path& root);

}  // namespace mlc::target
