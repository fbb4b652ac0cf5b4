#include "compiler/package/device_kernels.h"

#include <memory>
#include <variant>

#include "compiler/build/nvrtc.h"
#include "compiler/codegen/cuda/cuda.h"

namespace mlc::package {

bool AwaitsInputs(const ir::Stmt& phase) {
  if (const auto* block = std::get_if<ir::Block>(&phase.node)) {
    for (const ir::StmtRef& stmt : block->body) {
      if (AwaitsInputs(*stmt)) return true;
    }
    return false;
  }
  if (const auto* loop = std::get_if<ir::For>(&phase.node)) return AwaitsInputs(*loop->body);
  const auto* sync = std::get_if<ir::Sync>(&phase.node);
  return sync != nullptr && sync->kind == ir::SyncKind::kAwaitInputs;
}

Result<DeviceCode> CompileForDevice(const ir::Kernel& kernel, const target::Target& target,
                                    const std::string& cuda_home) {
  const std::unique_ptr<build::Nvrtc> compiler = MLC_TRY(build::Nvrtc::Open(cuda_home));
  const codegen::CudaSource source = MLC_TRY(codegen::PrintCuda(kernel, target));
  DeviceCode code;
  code.binary = MLC_TRY(compiler->Compile(source.text, target.CudaArch())).image;
  // Text with instructions of one architecture would run on no newer one.
  target::Target generic = target;
  generic.arch_specific = false;
  const Result<codegen::CudaSource> portable = codegen::PrintCuda(kernel, generic);
  if (!portable.ok()) return code;
  Result<build::CudaBinary> text =
      compiler->Compile(portable->text, "compute_" + std::to_string(target.compute));
  if (text.ok()) code.portable = std::move(text->image);
  return code;
}

}  // namespace mlc::package
