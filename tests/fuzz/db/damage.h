// Damage as disks, cut transfers and people bring it about.
#pragma once

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>

#include "base/rng.h"

namespace mlc::db {

inline std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void WriteFile(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

// A few flipped bytes, a lost end, or a hole of zeros.
inline std::string Damaged(std::string bytes, Rng& rng) {
  switch (rng.Below(8)) {
    case 0:
      bytes.resize(rng.Below(bytes.size()));
      break;
    case 1: {
      const size_t at = rng.Below(bytes.size());
      const size_t size = std::min<size_t>(bytes.size() - at, 1 + rng.Below(4096));
      std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), size, '\0');
      break;
    }
    default:
      for (uint64_t flips = 1 + rng.Below(4); flips > 0; --flips) {
        bytes[rng.Below(bytes.size())] ^= static_cast<char>(1 + rng.Below(255));
      }
  }
  return bytes;
}

}  // namespace mlc::db
