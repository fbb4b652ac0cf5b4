// Random contractions lowered by the GPU families and interpreted agree with the reference.
#include <gtest/gtest.h>

#include <string>

#include "tests/property/contraction/random_workload.h"
#include "tests/property/cuda_contraction/cuda_case.h"

namespace mlc::schedule {
namespace {

double Bound(const graph::Workload& workload) {
  DType widest = DType::kF32;
  for (graph::ValueId id : workload.operands()) {
    const DType dtype = workload.graph()[id].type.dtype;
    if (dtype != DType::kF32) widest = dtype;
  }
  for (const graph::Value& value : {workload.graph()[workload.outputs()[0]]}) {
    if (value.type.dtype != DType::kF32) widest = value.type.dtype;
  }
  return widest == DType::kF16 ? 4e-3 : widest == DType::kBF16 ? 3e-2 : 1e-5;
}

void CheckFamily(Rng& rng, graph::Workload workload, const Family& family, int configs) {
  const target::Target target = HopperTarget();
  ASSERT_TRUE(family.Accepts(workload, target)) << workload.ToText();
  CudaCase c = MakeCudaCase(rng, std::move(workload));
  const double bound = Bound(c.workload);
  const auto check = [&](const Config& config) {
    SCOPED_TRACE(config.ToText() + "\n" + c.workload.ToText());
    EXPECT_LE(CudaError(c, target, config), bound);
  };
  const Space space = family.MakeSpace(c.workload, target);
  ASSERT_LE(space.NumPoints(), int64_t{1} << 20);
  const Config guess = family.Default(c.workload, target);
  ASSERT_EQ(family.Check(c.workload, target, guess), RejectReason::kNone) << guess.ToText() << "\n"
                                                                          << c.workload.ToText();
  ASSERT_GE(space.RankOf(guess), 0) << guess.ToText();
  check(guess);
  int legal = 0;
  for (int i = 0; i < 2000 && legal < configs && !::testing::Test::HasFailure(); ++i) {
    const Config config =
        space.At(static_cast<int64_t>(rng.Below(static_cast<uint64_t>(space.NumPoints()))));
    if (family.Check(c.workload, target, config) != RejectReason::kNone) continue;
    ++legal;
    check(config);
  }
}

TEST(TensorContractionProperty, LoweredConfigsAgreeWithTheReference) {
  Rng rng(20251);
  for (int i = 0; i < 120 && !HasFailure(); ++i) {
    CheckFamily(rng, RandomContraction(rng), *FindFamily("tensor_contraction"), 2);
  }
}

}  // namespace
}  // namespace mlc::schedule
