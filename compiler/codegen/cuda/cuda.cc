#include "compiler/codegen/cuda/cuda.h"

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
  const MemoryLayout scratch = PlaceGlobal(kernel, ir::Scope::kWorkspace);
  const GlobalLayout global{scratch, PlaceGlobal(kernel, ir::Scope::kCounter),
                            TensorMaps(kernel, scratch)};
  CudaSource source;
  source.workspace_bytes = scratch.bytes;
  source.counter_bytes = global.counters.bytes;
  source.tensor_maps = global.maps.all();
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
