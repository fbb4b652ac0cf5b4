#include "worker/measure/probe_kernels.h"

#include <algorithm>

#include "compiler/codegen/llvm.h"
#include "compiler/ir/build.h"

namespace mlc::worker {
namespace {

constexpr int64_t kFmaRounds = 4000;
constexpr int64_t kL1Rounds = 8;
// A page, which holds one way of a first-level cache that is indexed by offsets within pages.
constexpr int64_t kPageFloats = 1024;
// Ways and registers of usual CPUs.
constexpr int64_t kMinRows = 6;
constexpr int64_t kSpareRegisters = 3;

int64_t Chains(const target::Target& target) {
  return target.cpu().vector_registers() >= 32 ? 16 : 12;
}

int64_t Rows(const target::Target& target) {
  const int64_t ways = target.cpu().l1_bytes / (kPageFloats * int64_t{sizeof(float)});
  return std::clamp(ways + 2, kMinRows, target.cpu().vector_registers() - kSpareRegisters);
}

// Of one thread: the rows, and a vector for each of their columns.
int64_t L1Floats(const target::Target& target) {
  return kPageFloats * (Rows(target) + target.cpu().Lanes(DType::kF32));
}

// The sum of registers, as registers that are never read would not be computed.
ir::ExprRef Total(ir::KernelBuilder& b, ir::BufferId sums, int64_t count) {
  ir::ExprRef total = b.Get(sums, ir::Int(0));
  for (int64_t c = 1; c < count; ++c) {
    total = ir::MakeApply(ScalarOp::kAdd, {total, b.Get(sums, ir::Int(c))});
  }
  return total;
}

ir::Kernel FmaProbeKernel(const target::Target& target) {
  using namespace ir;
  const int lanes = target.cpu().Lanes(DType::kF32);
  const int64_t chains = Chains(target);
  KernelBuilder b(FmaProbeOf(target).name);
  const BufferId in = b.In("factors", DType::kF32, 2);
  const BufferId out = b.Out("sums", DType::kF32, int64_t{target.cpu().threads} * lanes);
  const BufferId sums = b.Registers("sum", DType::kF32, lanes, chains);
  const BufferId both = b.Registers("factor", DType::kF32, lanes, 2);
  b.Parallel("t", target.cpu().threads, [&](ExprRef t) {
    for (int i = 0; i < 2; ++i) b.Set(both, Int(i), MakeBroadcast(b.Load(in, Int(i)), lanes));
    const ExprRef x = b.Get(both, Int(0));
    const ExprRef y = b.Get(both, Int(1));
    b.Unrolled("c", chains, [&](ExprRef c) { b.Set(sums, c, y); });
    b.For("round", kFmaRounds, [&](ExprRef) {
      b.Unrolled("c", chains, [&](ExprRef c) {
        b.Set(sums, c, MakeApply(ScalarOp::kFma, {b.Get(sums, c), x, y}));
      });
    });
    b.Store(out, t * lanes, Total(b, sums, chains));
  });
  return b.Finish();
}

ir::Kernel L1ProbeKernel(const target::Target& target) {
  using namespace ir;
  const int lanes = target.cpu().Lanes(DType::kF32);
  const int64_t rows = Rows(target);
  const int64_t floats = L1Floats(target);
  KernelBuilder b(L1ProbeOf(target).name);
  const BufferId in = b.In("operands", DType::kF32, target.cpu().threads * floats);
  const BufferId out = b.Out("sums", DType::kF32, int64_t{target.cpu().threads} * lanes);
  const BufferId sums = b.Registers("sum", DType::kF32, lanes, rows);
  const BufferId vector = b.Registers("vector", DType::kF32, lanes, 1);
  b.Parallel("t", target.cpu().threads, [&](ExprRef t) {
    const ExprRef begin = t * floats;
    b.Unrolled("c", rows,
               [&](ExprRef c) { b.Set(sums, c, MakeBroadcast(b.Load(in, begin), lanes)); });
    b.For("round", kL1Rounds, [&](ExprRef) {
      b.For("x", kPageFloats, [&](ExprRef x) {
        b.Set(vector, Int(0), b.Load(in, begin + rows * kPageFloats + x * lanes, lanes));
        b.Unrolled("c", rows, [&](ExprRef c) {
          const ExprRef row = MakeBroadcast(b.Load(in, begin + c * kPageFloats + x), lanes);
          b.Set(sums, c, MakeApply(ScalarOp::kFma, {row, b.Get(vector, Int(0)), b.Get(sums, c)}));
        });
      });
    });
    b.Store(out, t * lanes, Total(b, sums, rows));
  });
  return b.Finish();
}

}  // namespace

ProbeKernel FmaProbeOf(const target::Target& target) {
  const auto steps = static_cast<double>(kFmaRounds * Chains(target));
  return {"burst", 2 * steps * target.cpu().Lanes(DType::kF32)};
}

ProbeKernel L1ProbeOf(const target::Target& target) {
  const auto steps = static_cast<double>(kL1Rounds * kPageFloats * Rows(target));
  return {"rows", 2 * steps * target.cpu().Lanes(DType::kF32), L1Floats(target)};
}

Result<std::string> BuildProbeKernels(const target::Target& target) {
  const ir::Kernel burst = FmaProbeKernel(target);
  const ir::Kernel rows = L1ProbeKernel(target);
  MLC_TRY(burst.Verify());
  MLC_TRY(rows.Verify());
  return codegen::CompileToObject({&burst, &rows}, target);
}

}  // namespace mlc::worker
