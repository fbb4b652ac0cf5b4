// What a device asks of the places of operands and results. A value.
#pragma once

#include <cstdint>

namespace mlc::graph {

struct PlaceRules {
  // Operands and results begin at multiples of so many bytes from an aligned base; 1: anywhere.
  int64_t alignment = 1;
  // A pointwise task may write over an operand that dies with it. Not where threads read memory
  // that others write.
  bool write_over_operands = true;
  // Resizing along the innermost dimension reads element by element, where other kernels have
  // vectors.
  bool resizes_by_element = true;
  // Convolutions of at most so many channels read an operand in any layout.
  int64_t few_channels = 4;
};

}  // namespace mlc::graph
