// The tensor maps of a kernel: one for each matrix and box that its copy_tensors name. The host
// encodes them (compiler/runtime/tensor_map.h); a phase that copies tensors takes all of them as
// its last parameters. Immutable; thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "compiler/codegen/cuda/shared_memory.h"
#include "compiler/ir/ir.h"
#include "compiler/runtime/tensor_map.h"

namespace mlc::codegen {

// Whether the statement, or one in it, copies tensors.
bool CopiesTensors(const ir::Stmt& stmt);

class TensorMaps {
 public:
  // `scratch`: where the kernel's workspace lies. Borrows nothing.
  TensorMaps(const ir::Kernel& kernel, const MemoryLayout& scratch);

  // In the order of first use; what the copies do not share (places, barriers) does not matter.
  // Arguments are numbered as launches give them: the kernel's parameters, scratch, counters.
  const std::vector<mlc_tensor_map>& all() const { return maps_; }
  // The name of the parameter that is the copy's map. REQUIRES: the copy is one of the kernel's.
  std::string NameOf(const ir::CopyTensor& copy) const;
  static std::string Name(size_t number);

 private:
  // A matrix is a part of a parameter, or of scratch.
  struct Place {
    int32_t argument = 0;
    int64_t byte_offset = 0;
    DType dtype = DType::kF16;
  };
  mlc_tensor_map MapOf(const ir::CopyTensor& copy) const;
  size_t NumberOf(const mlc_tensor_map& map) const;
  void Collect(const ir::Stmt& stmt);

  std::vector<Place> places_;  // of the kernel's buffers
  std::vector<mlc_tensor_map> maps_;
};

}  // namespace mlc::codegen
