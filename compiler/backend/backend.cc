#include "compiler/backend/backend.h"

#include <array>
#include <cstdint>
#include <limits>
#include <variant>

#include "compiler/backend/cpu_families.h"
#include "compiler/graph/passes/spread_norms.h"
#include "compiler/graph/physical/build_program.h"
#include "compiler/schedule/cuda/families.h"

namespace mlc::backend {

namespace {

constexpr std::array<std::string_view, 1> kCpuPassesApart = {"merge_siblings"};
constexpr std::array<std::string_view, 2> kCpuStages = {"llvm", "asm"};

constexpr std::array<std::string_view, 1> kCudaSkippedPasses = {graph::kSpreadNorms};
constexpr std::array<std::string_view, 2> kCudaPassesApart = {"merge_siblings",
                                                              graph::kFuseResiduals};
constexpr std::array<std::string_view, 2> kCudaStages = {"cuda", "ptx"};

std::vector<target::Target> NoOthers(const target::Target& /*target*/) { return {}; }

std::vector<target::Target> NewerGpus(const target::Target& target) {
  const auto newer = target::NewerDevices(target);
  return {newer.begin(), newer.end()};
}

constexpr std::array<Backend, 2> kBackends = {{
    {.name = "cpu",
     .plural = "CPUs",
     .device = "CPU",
     .families = CpuFamilies,
     .estimate = EstimateOnCpu,
     // The preferred family was faster wherever the model predicted a smaller gain.
     .default_margin = 0.75,
     .rules = {},
     .pad_channels = false,
     .computes_masks = false,
     .packed_reads = {.rows = std::numeric_limits<int64_t>::max()},
     .skipped_passes = {},
     .passes_apart = kCpuPassesApart,
     .limits_rows = true,
     .times_whole_models = false,
     .code_stages = kCpuStages,
     .other_devices = NoOthers},
    // Kernels take operands at multiples of 16 bytes, write over none, and want channels innermost
    // and whole.
    {.name = "cuda",
     .plural = "GPUs",
     .device = "GPU",
     .families = schedule::CudaFamilies,
     .estimate = EstimateOnGpu,
     // On an H200 the model's best family was the fastest.
     .default_margin = 1,
     .rules = {.alignment = 16,
               .write_over_operands = false,
               .resizes_by_element = false,
               .few_channels = 3,
               // What threads hold of rows in registers.
               .few_rows = {.rows = 4, .depth = 8192},
               .scatters_compute = true},
     .pad_channels = true,
     .computes_masks = true,
     // Products of more rows are not limited by reading weights.
     .packed_reads = {.rows = 16, .narrow = true, .float8 = true},
     .skipped_passes = kCudaSkippedPasses,
     .passes_apart = kCudaPassesApart,
     .limits_rows = false,
     .times_whole_models = true,
     .code_stages = kCudaStages,
     .other_devices = NewerGpus},
}};
static_assert(kBackends.size() == std::variant_size_v<decltype(target::Target::device)>,
              "each kind of target has a row");

}  // namespace

std::span<const Backend> Backends() { return kBackends; }

const Backend& BackendOf(const target::Target& target) { return kBackends[target.device.index()]; }

}  // namespace mlc::backend
