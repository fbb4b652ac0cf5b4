#include "costmodel/roofline.h"

#include <algorithm>
#include <cstdint>

namespace mlc::costmodel {

RooflineInput RooflineInputOf(const graph::Workload& workload) {
  const auto& operands = workload.operands();
  const bool narrow = std::any_of(operands.begin(), operands.end(), [&](graph::ValueId id) {
    const DType dtype = workload.graph()[id].type.dtype;
    return dtype == DType::kF16 || dtype == DType::kBF16;
  });
  return {workload.Flops(), workload.MinBytes(), narrow};
}

// Operands of four bytes pass tensor cores at half the rate, as tf32.
double PeakGflops(const RooflineInput& task, const target::Target& target) {
  const auto* gpu = target.As<target::GpuTarget>();
  if (gpu == nullptr) return target.fma_gflops;
  return std::max(target.fma_gflops, gpu->tensor_gflops / (task.narrow ? 1 : 2));
}

bool Streams(const RooflineInput& task, const target::Target& target) {
  const auto* gpu = target.As<target::GpuTarget>();
  const int64_t last_cache = gpu != nullptr ? gpu->l2_bytes : target.cpu().l3_bytes;
  return task.min_bytes > static_cast<double>(last_cache);
}

double RooflineNs(const RooflineInput& task, const target::Target& target) {
  const double peak = PeakGflops(task, target);
  const double compute = peak > 0 ? task.flops / peak : 0;
  const bool bound = target.copy_gbps > 0 && Streams(task, target);
  return std::max(compute, bound ? task.min_bytes / target.copy_gbps : 0);
}

}  // namespace mlc::costmodel
