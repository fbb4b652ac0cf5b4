#include "worker/measure/machine_probe.h"

#include <sched.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "base/steady_time.h"

namespace mlc::worker {
namespace {

constexpr int kMinBursts = 3;
constexpr double kWakeUpSeconds = 0.002;
constexpr double kPeakSeconds = 0.03;
constexpr double kMaxPeakSeconds = 1;
// The clock of many busy cores is lower than that of one.
constexpr double kMinScaling = 0.7;
constexpr size_t kPage = 4096;
// Neither a power of two, which some CPUs multiply faster, nor denormal in any sum.
constexpr float kOperand = 0.3F;

// Cores that the first CPUs of this process belong to, as far as the machine tells.
int UsedCores(int threads) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return threads;
  std::set<std::string> cores;
  for (int cpu = 0, used = 0; cpu < CPU_SETSIZE && used < threads; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    ++used;
    std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(cpu) +
                       "/topology/thread_siblings_list");
    std::string siblings;
    if (!std::getline(file, siblings)) return threads;
    cores.insert(siblings);
  }
  return static_cast<int>(cores.size());
}

struct CopyJob {
  std::vector<std::byte*> from;
  std::vector<std::byte*> to;
  size_t bytes;
};

}  // namespace

// Each multiplication waits for the last one: three cycles on every core that this runs on.
double ClockMhz() {
  constexpr int kSteps = 20000;
  constexpr double kLatency = 3;
  double best = 0;
  for (int attempt = 0; attempt < 2; ++attempt) {
    uint64_t value = 3;
    const double start = NowSeconds();
    for (int i = 0; i < kSteps; ++i) {
      value *= 0x9e3779b97f4a7c15u;
      asm volatile("" : "+r"(value));
    }
    best = std::max(best, kSteps * kLatency / (NowSeconds() - start) / 1e6);
  }
  return best;
}

void PinToFirst() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    cpu_set_t first;
    CPU_ZERO(&first);
    CPU_SET(cpu, &first);
    (void)sched_setaffinity(0, sizeof(first), &first);
    return;
  }
}

Result<MachineProbe> MachineProbe::Create(const std::string& kernels,
                                          const target::Target& target) {
  MachineProbe probe;
  probe.object_ = MLC_TRY(build::LoadObject(kernels));
  const auto part = [&](const ProbeKernel& kernel) -> Result<Probe> {
    return Probe{MLC_TRY(probe.object_->Phases(kernel.name, 1)).front(), kernel};
  };
  probe.fma_ = MLC_TRY(part(FmaProbeOf(target)));
  probe.l1_ = MLC_TRY(part(L1ProbeOf(target)));
  const auto floats = static_cast<size_t>(target.cpu().threads * probe.l1_.kernel.floats);
  probe.operands_.assign(floats + kPage / sizeof(float), kOperand);
  probe.target_ = target;
  probe.cores_ = UsedCores(target.cpu().threads);
  return probe;
}

double MachineProbe::RunOnce(mlc_pool* pool, const Probe& part, int threads) const {
  const auto aligned = [](const std::vector<float>& floats, size_t to) {
    const auto address = reinterpret_cast<uintptr_t>(floats.data());
    return reinterpret_cast<void*>((address + to - 1) / to * to);
  };
  std::vector<float> sums(static_cast<size_t>(threads * target_.cpu().Lanes(DType::kF32)) + 16);
  void* buffers[] = {aligned(operands_, kPage), aligned(sums, 64), nullptr, nullptr};
  const mlc_phase phase = {part.phase, threads};
  const double start = NowSeconds();
  mlc_run_phases(pool, &phase, 1, buffers);
  return threads * part.kernel.flops / (NowSeconds() - start) / 1e9;
}

double MachineProbe::FmaGflops(mlc_pool* pool, double enough) const {
  double best = 0;
  const double start = NowSeconds();
  for (int i = 0; i < kMinBursts || (best < enough && NowSeconds() - start < kWakeUpSeconds); ++i) {
    best = std::max(best, RunOnce(pool, fma_, target_.cpu().threads));
  }
  return best;
}

double MachineProbe::L1Gflops(mlc_pool* pool) const {
  std::array<double, 5> reads;
  for (double& read : reads) read = RunOnce(pool, l1_, target_.cpu().threads);
  std::nth_element(reads.begin(), reads.begin() + reads.size() / 2, reads.end());
  return reads[reads.size() / 2];
}

double MachineProbe::PeakGflops(mlc_pool* pool) const {
  PinToFirst();
  double alone = 0;
  double best = 0;
  double taken = 0;
  const double start = NowSeconds();
  // Threads on separate cores are as fast as one alone; a sum far below that was disturbed.
  const auto disturbed = [&] { return best < kMinScaling * alone * cores_; };
  while (taken < kPeakSeconds || (disturbed() && taken < kMaxPeakSeconds)) {
    alone = std::max(alone, RunOnce(pool, fma_, 1));
    best = std::max(best, RunOnce(pool, fma_, target_.cpu().threads));
    taken = NowSeconds() - start;
  }
  return best;
}

double CopyGbps(mlc_pool* pool) {
  const auto threads = static_cast<size_t>(mlc_pool_threads(pool));
  CopyJob job;
  // Beyond the caches of the cores; no more, as it is the most memory that a worker ever holds.
  job.bytes = std::min<size_t>(32 << 20, (size_t{512} << 20) / threads);
  std::vector<std::vector<std::byte>> memory(2 * threads, std::vector<std::byte>(job.bytes));
  for (size_t i = 0; i < threads; ++i) {
    job.from.push_back(memory[2 * i].data());
    job.to.push_back(memory[2 * i + 1].data());
  }
  double best = 0;
  for (int i = 0; i < 4; ++i) {
    const double start = NowSeconds();
    const auto copy = [](void* context, int thread) {
      const auto& work = *static_cast<CopyJob*>(context);
      const auto t = static_cast<size_t>(thread);
      std::memcpy(work.to[t], work.from[t], work.bytes);
    };
    mlc_pool_run(pool, copy, &job);
    best = std::max(best, 2.0 * static_cast<double>(job.bytes * threads) / (NowSeconds() - start));
  }
  return best / 1e9;
}

}  // namespace mlc::worker
