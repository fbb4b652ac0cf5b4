// The extents of a launch on a GPU. Values; thread-safe.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace mlc::target {

// A grid in blocks, or a block in threads. One number is a line.
struct Dim3 {
  int64_t x, y, z;

  constexpr Dim3(int64_t along_x = 1, int64_t along_y = 1, int64_t along_z = 1)
      : x(along_x), y(along_y), z(along_z) {}
  constexpr bool is_line() const { return y == 1 && z == 1; }
  // "4096" or "64,8,2".
  std::string ToText() const;
  friend bool operator==(const Dim3&, const Dim3&) = default;
};

// Up to three numbers with commas between them. INVALID_ARGUMENT for anything else.
Result<Dim3> ParseDim3(const std::string& text);
// INVALID_ARGUMENT for a launch that no CUDA device supports.
Status CheckLaunch(const Dim3& grid, const Dim3& block);

}  // namespace mlc::target
