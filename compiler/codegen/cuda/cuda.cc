#include "compiler/codegen/cuda/cuda.h"

#include <algorithm>

#include "compiler/codegen/cuda/phase_printer.h"
#include "compiler/codegen/cuda/tensor_maps.h"

namespace mlc::codegen {

Result<CudaSource> PrintCuda(const ir::Kernel& kernel, const target::Target& target) {
  if (target.As<target::GpuTarget>() == nullptr) {
    return InvalidArgument("kernel '" + kernel.name + "': CUDA C++ needs a CUDA target, not " +
                           target.ToText());
  }
  MLC_TRY(kernel.Verify());
  for (const ir::Buffer& buffer : kernel.buffers) {
    const bool is_small = IsSmall(buffer.dtype) && !IsFloat8(buffer.dtype);
    if (is_small || (IsUnsigned(buffer.dtype) && buffer.dtype != DType::kU8)) {
      return Unimplemented("kernel '" + kernel.name + "': kernels for GPUs do not have the type " +
                           std::string(ToText(buffer.dtype)) +
                           ": compile the model for a CPU, or cast its inputs to another type");
    }
  }
  GlobalLayout global{PlaceGlobal(kernel, ir::Scope::kWorkspace),
                      PlaceGlobal(kernel, ir::Scope::kCounter)};
  global.maps = global.scratch.bytes;
  int64_t map_bytes = 0;
  for (const ir::StmtRef& phase : kernel.phases) {
    map_bytes = std::max(map_bytes, TensorMapBytes(std::get<ir::For>(phase->node)));
  }
  CudaSource source;
  source.workspace_bytes = global.scratch.bytes + map_bytes;
  source.counter_bytes = global.counters.bytes;
  DeviceFunctions functions;
  std::string text;
  for (size_t i = 0; i < kernel.phases.size(); ++i) {
    text += '\n';
    source.launches.push_back(
        MLC_TRY(PrintPhase(kernel, target, global, std::get<ir::For>(kernel.phases[i]->node),
                           kernel.name + "_p" + std::to_string(i), functions, &text)));
  }
  source.text = functions.ToText() + text;
  return source;
}

}  // namespace mlc::codegen
