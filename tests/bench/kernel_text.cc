// Configs and kernels of a workload for a typical H200, for benchmarks that compile and run them by
// themselves. Reads the workload from the standard input. Usage:
//   kernel_text defaults < WORKLOAD        the default config of each family, the chosen one first
//   kernel_text configs FAMILY < WORKLOAD  all legal configs of the family
//   kernel_text print CONFIG < WORKLOAD    CUDA C++, its launch in the first two lines
#include <cstdio>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/codegen/cuda/cuda.h"
#include "compiler/schedule/space/family.h"
#include "costmodel/analytic.h"
#include "costmodel/default_config.h"
#include "tests/bench/printed_maps.h"

namespace mlc {
namespace {

using schedule::Config;

constexpr std::string_view kTypicalH200 =
    "target v1 cuda arch=sm_90a sms=132 block=232448 sm=233472 l2=62914560 fma_gflops=66908 "
    "tensor_gflops=1070530 copy_gbps=4180";

Status Defaults(const graph::Workload& workload, const target::Target& target) {
  for (const Config& config : costmodel::DefaultConfigs(workload, target)) {
    const schedule::Family& family = *schedule::FindFamily(config.family);
    const double ns =
        costmodel::EstimateKernel(family.Facts(workload, target, config), target).total_ns;
    printf("%s\t%.2f us\n", config.ToText().c_str(), ns / 1e3);
  }
  return {};
}

Status Configs(const graph::Workload& workload, const target::Target& target,
               const std::string& name) {
  const schedule::Family* family = schedule::FindFamily(name);
  if (family == nullptr) return InvalidArgument("there is no family '" + name + "'");
  if (!family->Accepts(workload, target)) {
    return InvalidArgument("family '" + name + "' does not take the workload");
  }
  const schedule::Space space = family->MakeSpace(workload, target);
  for (int64_t rank = 0; rank < space.NumPoints(); ++rank) {
    const Config config = space.At(rank);
    if (family->Check(workload, target, config) != schedule::RejectReason::kNone) continue;
    printf("%s\n", config.ToText().c_str());
  }
  return {};
}

Status Print(const graph::Workload& workload, const target::Target& target,
             const std::string& text) {
  const Config config = MLC_TRY(Config::Parse(text));
  const schedule::LoweredKernel lowered = MLC_TRY(schedule::LowerConfig(workload, target, config));
  const codegen::CudaSource source = MLC_TRY(codegen::PrintCuda(lowered.kernel, target));
  if (source.launches.size() != 1 || !lowered.preparations.empty()) {
    return InvalidArgument("only kernels of one launch without preparations are printed");
  }
  const codegen::CudaLaunch& launch = source.launches.front();
  printf("// %s: %lld blocks of %lld threads and %lld bytes; scratch %lld bytes; operands",
         launch.function.c_str(), static_cast<long long>(launch.grid.x),
         static_cast<long long>(launch.block.x), static_cast<long long>(launch.block_bytes),
         static_cast<long long>(source.workspace_bytes));
  for (const schedule::Binding& binding : lowered.bindings) {
    const bool operand = binding.kind == schedule::Binding::Kind::kOperand;
    printf(" %d", operand ? binding.index : -1);
  }
  printf("\n%s\n%s\n", bench::MapLine(source).c_str(), source.text.c_str());
  return {};
}

Status Run(const std::vector<std::string>& args) {
  const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
  const graph::Workload workload = MLC_TRY(graph::Workload::Parse(text));
  const target::Target target = MLC_TRY(target::Target::Parse(kTypicalH200));
  if (args.size() == 1 && args[0] == "defaults") return Defaults(workload, target);
  if (args.size() == 2 && args[0] == "configs") return Configs(workload, target, args[1]);
  if (args.size() == 2 && args[0] == "print") return Print(workload, target, args[1]);
  return InvalidArgument("usage: kernel_text defaults | configs FAMILY | print CONFIG");
}

}  // namespace
}  // namespace mlc

int main(int argc, char** argv) {
  const mlc::Status status = mlc::Run({argv + 1, argv + argc});
  if (!status.ok()) fprintf(stderr, "kernel_text: %s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
