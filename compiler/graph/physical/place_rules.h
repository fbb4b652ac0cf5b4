// The requirements of a device on the memory of operands and results, and what its kernels compute
// beside a product. Values.
#pragma once

#include <cstdint>

namespace mlc::graph {

// Products of few rows with constant columns whose kernels compute more than an epilogue.
struct FewRows {
  int64_t rows = 0;   // at most; 0: there are no such kernels
  int64_t depth = 0;  // of a row that is a norm, at most
};

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
  // Convolutions of images (graph/image_convolution.h) read them in any layout, and compute what is
  // cheap of them.
  bool reads_images = false;
  // Values keep the order in memory of what they are computed from, unless another one is better.
  // In a model that takes ranges, a length that varies is then outermost in more of them.
  bool keeps_order = false;
  FewRows few_rows;
  // Kernels of scatters compute their updates, and pointwise values beside them.
  bool scatters_compute = false;
};

}  // namespace mlc::graph
