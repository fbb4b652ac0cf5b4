// The tensor maps of a phase: one for each matrix and box that its copy_tensors name. The kernel
// makes them itself, in scratch memory of each block, so that a launch needs nothing but pointers.
// Thread-safe (no state).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/ir.h"

namespace mlc::codegen {

constexpr int64_t kTensorMapBytes = 128;

// In the order of first use; what the copies do not share (places, barriers) does not matter.
std::vector<const ir::CopyTensor*> TensorMapsOf(const ir::Stmt& phase);
// The number of the copy's map among them.
size_t NumberOf(const std::vector<const ir::CopyTensor*>& maps, const ir::CopyTensor& copy);
// Bytes of scratch for the maps of all blocks of a phase.
int64_t TensorMapBytes(const ir::For& phase);
// The number of the type in a tensor map.
int TensorMapType(DType dtype);

}  // namespace mlc::codegen
