// How much of an object is code and constants, without the tables that only linkers and debuggers
// read. Reads the file; thread-safe.
#pragma once

#include <cstdint>
#include <string>

namespace mlc::package {

// Of the sections of an ELF64 object that a library loads; 0: the file cannot be read, or is none.
int64_t LoadedBytes(const std::string& path);

}  // namespace mlc::package
