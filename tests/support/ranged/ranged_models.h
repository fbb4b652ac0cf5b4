// Small models whose dimensions take any size of a range, as the bytes of ONNX files. The same
// weights on every machine.
#pragma once

#include <string>
#include <vector>

#include "compiler/front/ranged_sizes.h"

namespace mlc::testing {

struct RangedCase {
  std::string name;
  std::string model;
  std::vector<front::RangedDim> dims;  // by name
  std::vector<front::Sizes> sizes;     // of runs: classes, between them, smaller ones after larger
};

// Convolutions, a pool and a product. The batch is outermost in memory.
RangedCase RangedConvolutions();
// Attention over a length that varies beside the batch, a normalisation, a layer of products, and a
// mean over the length.
RangedCase RangedTransformer();
// A sum, in more classes than a session keeps graphs.
RangedCase ManyClasses();
// Keys and values of earlier tokens are inputs; those with the new ones appended are outputs.
RangedCase GrowingDecoder();

}  // namespace mlc::testing
