#include "compiler/package/device_kernels.h"

#include <variant>

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

namespace {

Result<std::string> Compiled(const DeviceTools& tools, const std::string& source,
                             const std::string& arch, DeviceCode& code) {
  build::CachedBinary made =
      MLC_TRY(build::CompileCached(tools.cubins, *tools.nvrtc, source, arch));
  ++(made.found ? code.found : code.made);
  if (!made.kept.ok()) code.kept = made.kept;
  return std::move(made.binary.image);
}

// `source` is for the architectures of the target and of newer devices.
void AddPortable(const DeviceTools& tools, const std::string& source, const target::Target& target,
                 DeviceCode& code) {
  Result<std::string> text =
      Compiled(tools, source, "compute_" + std::to_string(target.compute), code);
  if (text.ok()) code.portable = *std::move(text);
}

}  // namespace

Result<DeviceCode> CompileSource(const std::string& source, const target::Target& target,
                                 const DeviceTools& tools) {
  DeviceCode code;
  code.binary = MLC_TRY(Compiled(tools, source, target.CudaArch(), code));
  AddPortable(tools, source, target, code);
  return code;
}

Result<DeviceCode> CompileForDevice(const ir::Kernel& kernel, const target::Target& target,
                                    const DeviceTools& tools) {
  const codegen::CudaSource source = MLC_TRY(codegen::PrintCuda(kernel, target));
  DeviceCode code;
  code.binary = MLC_TRY(Compiled(tools, source.text, target.CudaArch(), code));
  // Text with instructions of one architecture would run on no newer one.
  target::Target generic = target;
  generic.arch_specific = false;
  const Result<codegen::CudaSource> portable = codegen::PrintCuda(kernel, generic);
  if (portable.ok()) AddPortable(tools, portable->text, target, code);
  return code;
}

}  // namespace mlc::package
