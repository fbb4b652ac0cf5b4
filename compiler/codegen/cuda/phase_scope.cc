#include "compiler/codegen/cuda/phase_scope.h"

#include "compiler/codegen/cuda/cxx_text.h"

namespace mlc::codegen {

PhaseScope::PhaseScope(const ir::Kernel& kernel, const target::Target& target,
                       const TensorMaps& maps, DeviceFunctions& functions)
    : kernel(kernel), target(target), maps(maps), functions(functions), analysis(kernel) {
  for (const ir::Buffer& buffer : kernel.buffers) buffers.push_back(CxxName(buffer.name));
  for (const std::string& var : kernel.vars) vars.push_back(CxxName(var));
}

std::string_view PhaseScope::TypeOf(const ir::ExprRef& e) {
  if (e->type.dtype == DType::kI64) return IndexType(analysis.Of(e));
  return ValueType(e->type.dtype);
}

}  // namespace mlc::codegen
