// The requirements of a device on the memory of operands and results. A value.
#pragma once

#include <cstdint>

namespace mlc::graph {

struct PlaceRules {
  // Operands and results start at multiples of this many bytes from an aligned base; 1: anywhere.
  int64_t alignment = 1;
  // A pointwise task may write over an operand that it reads last. False if threads read memory
  // that other threads write.
  bool write_over_operands = true;
  // Resizing along the innermost dimension reads single elements, where other kernels read vectors.
  bool resizes_by_element = true;
  // Convolutions of floats of at most this many channels accept any layout of their operand.
  int64_t few_channels = 4;
  // Values keep the order in memory of what they are computed from, unless another one is better.
  // In a model that takes ranges, a length that varies is then outermost in more of them.
  bool keeps_order = false;
};

}  // namespace mlc::graph
