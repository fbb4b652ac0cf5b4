#include "compiler/package/packaging.h"

#include <array>
#include <utility>
#include <variant>

#include "compiler/package/cpu_image.h"
#include "compiler/package/device_image.h"
#include "compiler/package/embedded.h"

namespace mlc::package {

namespace {

Status LayOut(TaskKernel& kernel, const target::Target& /*target*/) {
  kernel.layout = codegen::LayoutOf(kernel.lowered.kernel);
  return {};
}

Status PrintSources(TaskKernel& kernel, const target::Target& target) {
  kernel.device = MLC_TRY(codegen::PrintCuda(kernel.lowered.kernel, target));
  // Text with instructions of one architecture would run on no newer one.
  target::Target newer = target;
  newer.gpu().arch_specific = false;
  Result<codegen::CudaSource> printed = codegen::PrintCuda(kernel.lowered.kernel, newer);
  if (printed.ok()) kernel.portable_source = std::move(printed->text);
  return {};
}

std::string MachineOfCpu(const target::Target& target) { return target.cpu().arch; }
// The one at hand: what runs the sessions of a GPU is not part of its target.
std::string MachineOfHost(const target::Target& /*target*/) {
  return target::DetectHost(1).cpu().arch;
}

Result<std::vector<RuntimeObject>> CpuRuntime(const target::Target& target) {
  return std::vector<RuntimeObject>{
      {"mlc_runtime.o", MLC_TRY(EmbeddedRuntimeObject(MachineOfCpu(target)))}};
}

Result<std::vector<RuntimeObject>> DeviceRuntime(const target::Target& target) {
  return std::vector<RuntimeObject>{
      {"mlc_runtime.o", MLC_TRY(EmbeddedRuntimeObject(MachineOfHost(target)))},
      {"mlc_device_runtime.o", EmbeddedDeviceRuntimeObject()}};
}

constexpr std::array<Packaging, 2> kPackagings = {{
    {.code_suffix = ".o",
     .has_device_code = false,
     .complete = LayOut,
     .machine = MachineOfCpu,
     .runtime = CpuRuntime,
     .add_tables = AddCpuTables},
    {.code_suffix = ".cubin",
     .has_device_code = true,
     .complete = PrintSources,
     .machine = MachineOfHost,
     .runtime = DeviceRuntime,
     .add_tables = AddDeviceTables},
}};
static_assert(kPackagings.size() == std::variant_size_v<decltype(target::Target::device)>,
              "each kind of target has a row");

}  // namespace

const Packaging& PackagingOf(const target::Target& target) {
  return kPackagings[target.device.index()];
}

}  // namespace mlc::package
