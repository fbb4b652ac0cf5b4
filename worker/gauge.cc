#include "worker/gauge.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "compiler/codegen/llvm.h"
#include "compiler/ir/build.h"

namespace mlc::worker {
namespace {

constexpr int64_t kRounds = 4000;
constexpr int kLeastBursts = 3;
constexpr double kWakeSeconds = 0.002;
constexpr double kPeakSeconds = 0.03;
constexpr double kBusyPeakSeconds = 1;
// The clock of many busy cores is lower than that of one.
constexpr double kAsAlone = 0.7;

int64_t Chains(const target::Target& target) { return target.vector_registers() >= 32 ? 16 : 12; }

ir::Kernel BurstKernel(const target::Target& target) {
  using namespace ir;
  const int lanes = target.Lanes(DType::kF32);
  const int64_t chains = Chains(target);
  KernelBuilder b("burst");
  const BufferId in = b.In("factors", DType::kF32, 2);
  const BufferId out = b.Out("sums", DType::kF32, int64_t{target.threads} * lanes);
  const BufferId sums = b.Registers("sum", DType::kF32, lanes, chains);
  const BufferId both = b.Registers("factor", DType::kF32, lanes, 2);
  b.Parallel("t", target.threads, [&](ExprRef t) {
    for (int i = 0; i < 2; ++i) b.Set(both, Int(i), MakeBroadcast(b.Load(in, Int(i)), lanes));
    const ExprRef x = b.Get(both, Int(0));
    const ExprRef y = b.Get(both, Int(1));
    b.Unrolled("c", chains, [&](ExprRef c) { b.Set(sums, c, y); });
    b.For("round", kRounds, [&](ExprRef) {
      b.Unrolled("c", chains, [&](ExprRef c) {
        b.Set(sums, c, MakeApply(ScalarOp::kFma, {b.Get(sums, c), x, y}));
      });
    });
    ExprRef total = b.Get(sums, Int(0));
    for (int64_t c = 1; c < chains; ++c) {
      total = MakeApply(ScalarOp::kAdd, {total, b.Get(sums, Int(c))});
    }
    b.Store(out, t * lanes, total);
  });
  return b.Finish();
}

double Seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Cores that the first processors of this process belong to, as far as the machine tells.
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
    const double start = Seconds();
    for (int i = 0; i < kSteps; ++i) {
      value *= 0x9e3779b97f4a7c15u;
      asm volatile("" : "+r"(value));
    }
    best = std::max(best, kSteps * kLatency / (Seconds() - start) / 1e6);
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

Result<std::string> BuildBurst(const target::Target& target) {
  const ir::Kernel kernel = BurstKernel(target);
  MLC_TRY(kernel.Verify());
  return codegen::CompileToObject({&kernel}, target);
}

Result<Gauge> Gauge::Create(const std::string& burst, const target::Target& target) {
  Gauge gauge;
  gauge.object_ = MLC_TRY(build::LoadObject(burst));
  gauge.phase_ = MLC_TRY(gauge.object_->Phases("burst", 1)).front();
  gauge.target_ = target;
  gauge.cores_ = UsedCores(target.threads);
  return gauge;
}

double Gauge::Burst(mlc_pool* pool, int threads) const {
  const int lanes = target_.Lanes(DType::kF32);
  alignas(64) float factors[2] = {0.5F, 0.25F};
  std::vector<float> sums(static_cast<size_t>(threads * lanes) + 16);
  auto address = reinterpret_cast<uintptr_t>(sums.data());
  address = (address + 63) / 64 * 64;
  void* buffers[] = {factors, reinterpret_cast<void*>(address), nullptr, nullptr};
  const mlc_phase phase = {phase_, threads};
  const double start = Seconds();
  mlc_run_phases(pool, &phase, 1, buffers);
  const double flops = 2.0 * threads * static_cast<double>(kRounds * Chains(target_)) * lanes;
  return flops / (Seconds() - start) / 1e9;
}

double Gauge::Gflops(mlc_pool* pool, double enough) const {
  double best = 0;
  const double start = Seconds();
  for (int i = 0; i < kLeastBursts || (best < enough && Seconds() - start < kWakeSeconds); ++i) {
    best = std::max(best, Burst(pool, target_.threads));
  }
  return best;
}

double Gauge::PeakGflops(mlc_pool* pool) const {
  PinToFirst();
  double alone = 0;
  double best = 0;
  double taken = 0;
  const double start = Seconds();
  // Threads on cores of their own are as fast as one alone; what is far below was disturbed.
  const auto disturbed = [&] { return best < kAsAlone * alone * cores_; };
  while (taken < kPeakSeconds || (disturbed() && taken < kBusyPeakSeconds)) {
    alone = std::max(alone, Burst(pool, 1));
    best = std::max(best, Burst(pool, target_.threads));
    taken = Seconds() - start;
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
    const double start = Seconds();
    const auto copy = [](void* context, int thread) {
      const auto& work = *static_cast<CopyJob*>(context);
      const auto t = static_cast<size_t>(thread);
      std::memcpy(work.to[t], work.from[t], work.bytes);
    };
    mlc_pool_run(pool, copy, &job);
    best = std::max(best, 2.0 * static_cast<double>(job.bytes * threads) / (Seconds() - start));
  }
  return best / 1e9;
}

}  // namespace mlc::worker
