// The device function of one shape of warpgroup_mma. Thread-safe (no state).
#pragma once

#include <string>

#include "compiler/base/dtype.h"

namespace mlc::codegen {

std::string WarpgroupMmaName(DType dtype, int columns);
// A function (sums, a, b) without its qualifiers; needs TileDescriptor.
std::string WarpgroupMmaDefinition(DType dtype, int columns);

}  // namespace mlc::codegen
