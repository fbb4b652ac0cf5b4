// The scope of one phase: the kernel's buffers and variables with their C++ names, the facts of
// indices, and the device functions used so far. Not thread-safe; borrows the kernel, the target
// and the functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/codegen/cuda/device_functions.h"
#include "compiler/codegen/cuda/index_facts.h"
#include "compiler/codegen/cuda/shared_memory.h"
#include "compiler/codegen/cuda/tensor_maps.h"
#include "compiler/ir/ir.h"
#include "compiler/target/target.h"

namespace mlc::codegen {

inline std::string_view IndexType(const IndexFacts& facts) {
  return facts.FitsInt() ? "int" : "long long";
}

struct PhaseScope {
  PhaseScope(const ir::Kernel& kernel, const target::Target& target, const TensorMaps& maps,
             DeviceFunctions& functions);

  const ir::Buffer& BufferOf(ir::BufferId id) const {
    return kernel.buffers[static_cast<size_t>(id)];
  }
  const std::string& NameOf(ir::BufferId id) const { return buffers[static_cast<size_t>(id)]; }
  const std::string& VarName(ir::VarId id) const { return vars[static_cast<size_t>(id)]; }
  std::string_view TypeOf(const ir::ExprRef& e);  // of a scalar, as printed
  bool Fits(const ir::Expr& e) { return analysis.Of(e).FitsInt(); }

  const ir::Kernel& kernel;
  const target::Target& target;
  const TensorMaps& maps;
  DeviceFunctions& functions;
  IndexAnalysis analysis;
  std::vector<std::string> buffers;  // C++ names
  std::vector<std::string> vars;
  std::vector<BufferUse> uses;  // per buffer, in this phase
  int threads = 0;              // of a block
};

}  // namespace mlc::codegen
