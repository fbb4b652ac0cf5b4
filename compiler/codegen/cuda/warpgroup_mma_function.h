// The device function of one shape of warpgroup_mma. Thread-safe (no state).
#pragma once

#include <string>

#include "compiler/types/dtype.h"

namespace mlc::codegen {

struct WarpgroupMmaShape {
  DType dtype = DType::kF16;          // of a
  DType columns_dtype = DType::kF16;  // of b
  int columns = 64;
  bool from_registers = false;  // a
  bool adds = true;
  int across = 0;  // elements between blocks of 64 columns of a b that lies across k; 0: along k
};

std::string WarpgroupMmaName(const WarpgroupMmaShape& shape);
// A function (sums, a, b) without its qualifiers; needs TileDescriptor.
std::string WarpgroupMmaDefinition(const WarpgroupMmaShape& shape);

}  // namespace mlc::codegen
