#include "client/model/tuning_time.h"

#include <algorithm>

namespace mlc::client {
namespace {

// Of a CPU, from runs of 200 and 300 trials on 2 CPUs (AMD EPYC, Zen 5): 0.03 to 0.04 s for each
// trial of four reduced networks, whose kernels take microseconds; 0.08 to 0.1 s for resnet50 and
// 0.12 s for bert_base on one thread, whose tasks take 0.6 and 1.4 ms at the peak.
constexpr double kSeconds = 0.03;
constexpr double kExecutions = 90;
// Of a GPU, from docs/benchmarks/gpu-tuning-cost.md: 0.38 s of compilation on each of 16 CPUs.
constexpr double kGpuBuildSeconds = 0.38;
constexpr double kGpuSeconds = 0.015;

// Gflop/s of one thread, where the target does not say how fast it is.
double NominalPeak(const target::CpuTarget& cpu) {
  switch (cpu.isa) {
    case target::Isa::kAvx512:
    case target::Isa::kAvx512Vnni:
      return 250;
    case target::Isa::kAvx2:
      return 110;
    default:
      return 30;
  }
}

}  // namespace

double SecondsPerTrial(const std::vector<costmodel::RooflineInput>& tasks,
                       const target::Target& target, int cpus) {
  const auto* cpu = target.As<target::CpuTarget>();
  if (cpu == nullptr) return kGpuSeconds + kGpuBuildSeconds / std::max(cpus, 1);
  target::Target rated = target;
  if (rated.fma_gflops <= 0) rated.fma_gflops = NominalPeak(*cpu) * cpu->threads;
  double ns = 0;
  for (const costmodel::RooflineInput& task : tasks) ns += costmodel::RooflineNs(task, rated);
  const double mean_ns = tasks.empty() ? 0 : ns / static_cast<double>(tasks.size());
  return kSeconds + kExecutions * mean_ns / 1e9;
}

}  // namespace mlc::client
