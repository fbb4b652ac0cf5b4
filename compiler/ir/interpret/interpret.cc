#include "compiler/ir/interpret/interpret.h"

#include <string>

#include "compiler/ir/interpret/gpu_machine.h"
#include "compiler/ir/interpret/machine.h"

namespace mlc::ir {

Status Interpret(const Kernel& kernel, std::span<const std::span<std::byte>> params,
                 int64_t limit) {
  MLC_TRY(kernel.Verify());
  if (params.size() != static_cast<size_t>(kernel.NumParams())) {
    return InvalidArgument("kernel '" + kernel.name + "' takes " +
                           std::to_string(kernel.NumParams()) + " parameters, not " +
                           std::to_string(params.size()));
  }
  for (size_t i = 0; i < params.size(); ++i) {
    const Buffer& buffer = kernel.buffers[i];
    const int64_t needed = buffer.size * SizeOf(buffer.dtype);
    if (static_cast<int64_t>(params[i].size()) < needed) {
      return InvalidArgument("kernel '" + kernel.name + "': parameter '" + buffer.name +
                             "' needs " + std::to_string(needed) + " bytes, not " +
                             std::to_string(params[i].size()));
    }
  }
  if (kernel.IsGpu()) return GpuMachine(kernel, params).Run();
  return Machine(kernel, params, limit).Run();
}

}  // namespace mlc::ir
