// The tensor maps of a kernel in what benchmarks print for Python, which encodes them and launches
// the kernel (printed_products.py). Thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "compiler/codegen/cuda/cuda.h"

namespace mlc::bench {

// Of each map all numbers, in the order of mlc_tensor_map.
inline std::vector<std::vector<int64_t>> MapNumbers(const codegen::CudaSource& source) {
  std::vector<std::vector<int64_t>> maps;
  for (const mlc_tensor_map& m : source.tensor_maps) {
    std::vector<int64_t>& numbers = maps.emplace_back();
    const auto append = [&](const auto& list) {
      numbers.insert(numbers.end(), std::begin(list), std::end(list));
    };
    numbers.push_back(m.byte_offset);
    append(m.sizes);
    append(m.pitches);
    append(std::array{m.argument, m.type, m.rank});
    append(m.boxes);
    append(m.steps);
    append(std::array{m.swizzle, m.promotion});
  }
  return maps;
}

// The same as a comment: "// maps [[0, 6, ...], ...]".
inline std::string MapLine(const codegen::CudaSource& source) {
  std::string line = "// maps [";
  const char* between_maps = "";
  for (const std::vector<int64_t>& map : MapNumbers(source)) {
    line += between_maps;
    between_maps = ", ";
    const char* between = "[";
    for (const int64_t number : map) {
      line += between + std::to_string(number);
      between = ", ";
    }
    line += ']';
  }
  return line + "]";
}

}  // namespace mlc::bench
