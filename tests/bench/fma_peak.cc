#include "tests/bench/fma_peak.h"

#include "base/rng.h"
#include "base/steady_time.h"
#include "compiler/ir/build.h"
#include "tests/bench/measuring.h"

namespace mlc::bench {
namespace {

constexpr int64_t kSteps = 40000;
constexpr int kInputVectors = 8;

struct Registers {
  int chains;
  int factors;
};

// All in registers; whole rounds of the factors.
Registers RegistersOf(const target::Target& target) {
  if (target.cpu().vector_registers() >= 32) return {.chains = 24, .factors = 6};
  return {.chains = 12, .factors = 3};
}

ir::Kernel BurstKernel(int lanes, const Registers& registers, int threads) {
  const int chains = registers.chains;
  const int count = registers.factors;
  ir::KernelBuilder b("peak");
  // Random factors: the clock of wide units depends on how many bits change.
  const auto in = b.In("x", DType::kF32, lanes * kInputVectors);
  const auto out = b.Out("y", DType::kF32, int64_t{lanes} * chains * threads);
  const auto acc = b.Registers("acc", DType::kF32, lanes, chains);
  const auto factors = b.Registers("f", DType::kF32, lanes, count);
  b.Parallel("p", threads, [&](const ir::ExprRef& p) {
    b.Unrolled("c", chains,
               [&](const ir::ExprRef& c) { b.Set(acc, c, ir::Float(DType::kF32, 0, lanes)); });
    b.Unrolled("c", count, [&](const ir::ExprRef& c) {
      b.Set(factors, c, b.Load(in, c * int64_t{lanes}, lanes));
    });
    b.For("k", kSteps, [&](const ir::ExprRef&) {
      b.Unrolled("c", chains / count, [&](const ir::ExprRef& c) {
        b.Unrolled("f", count, [&](const ir::ExprRef& f) {
          const auto index = c * int64_t{count} + f;
          const auto other = b.Get(factors, ir::Mod(f + 1, count));
          b.Set(acc, index,
                ir::MakeApply(ScalarOp::kFma, {b.Get(factors, f), other, b.Get(acc, index)}));
        });
      });
    });
    b.Unrolled("c", chains, [&](const ir::ExprRef& c) {
      b.Store(out, (p * int64_t{chains} + c) * int64_t{lanes}, b.Get(acc, c));
    });
  });
  return b.Finish();
}

}  // namespace

Result<FmaPeak> FmaPeak::Create(const target::Target& target) {
  const int lanes = target.cpu().Lanes(DType::kF32);
  const Registers registers = RegistersOf(target);
  const ir::Kernel kernel = BurstKernel(lanes, registers, target.cpu().threads);
  FmaPeak peak;
  const std::string object = MLC_TRY(codegen::CompileToObject({&kernel}, target));
  peak.object_ = MLC_TRY(build::LoadObject(object));
  peak.phases_ = MLC_TRY(peak.object_->Phases(kernel.name, 1));
  peak.threads_ = target.cpu().threads;
  peak.flops_ = 2.0 * lanes * registers.chains * kSteps * target.cpu().threads;
  peak.in_ = AlignedBuffer(int64_t{kInputVectors} * lanes * 4);
  peak.out_ = AlignedBuffer(int64_t{lanes} * registers.chains * target.cpu().threads * 4);
  Rng rng(5);
  for (int i = 0; i < kInputVectors * lanes; ++i) {
    reinterpret_cast<float*>(peak.in_.data())[i] = static_cast<float>(rng.Uniform() * 2 - 1);
  }
  return peak;
}

double FmaPeak::Measure(Threads& threads) {
  void* buffers[] = {in_.data(), out_.data(), nullptr, nullptr};
  const double start = NowSeconds();
  threads.Run(phases_[0], buffers, threads_);
  return flops_ / (NowSeconds() - start) * 1e-9;
}

}  // namespace mlc::bench
