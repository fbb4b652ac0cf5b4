// Products of bytes on matrix units are exact: random configs, interpreted, agree with the
// reference to the last bit, and no other family claims what it cannot compute.
#include <gtest/gtest.h>

#include <string>

#include "compiler/schedule/space/family.h"
#include "tests/property/cuda_contraction/cuda_case.h"
#include "tests/workloads/byte_contraction.h"
#include "tests/workloads/contraction.h"

namespace mlc::schedule {
namespace {

// Of |difference| over the largest |reference|: no element of any type differs by so little.
constexpr double kExact = 1e-12;

void Check(CudaCase& c, const target::Target& target, const Config& config, double bound) {
  SCOPED_TRACE(config.ToText() + "\n" + c.workload.ToText());
  const double error = CudaError(c, target, config);
  EXPECT_GE(error, 0);
  EXPECT_LE(error, bound);
}

void CheckFamily(Rng& rng, graph::Workload workload, const Family& family, int configs,
                 double bound) {
  const target::Target target = HopperTarget();
  ASSERT_TRUE(family.Accepts(workload, target)) << workload.ToText();
  CudaCase c = MakeCudaCase(rng, std::move(workload));
  const auto problem = family.Open(c.workload, target);
  const Space space = problem->MakeSpace();
  const Config usual = family.Default(c.workload, target);
  ASSERT_EQ(problem->Check(usual), RejectReason::kNone) << usual.ToText() << c.workload.ToText();
  ASSERT_GE(space.RankOf(usual), 0) << usual.ToText();
  Check(c, target, usual, bound);
  const auto points = static_cast<uint64_t>(space.NumPoints());
  for (int i = 0, legal = 0; i < 2000 && legal < configs && !::testing::Test::HasFailure(); ++i) {
    const Config config = space.At(static_cast<int64_t>(rng.Below(points)));
    if (problem->Check(config) != RejectReason::kNone) continue;
    ++legal;
    Check(c, target, config, bound);
  }
}

using Draw = std::string (*)(Rng&);

void CheckDrawn(const char* family, Draw draw, int count) {
  Rng rng(81);
  for (int i = 0; i < count && !::testing::Test::HasFailure(); ++i) {
    auto workload = graph::Workload::Parse(draw(rng));
    ASSERT_TRUE(workload.ok()) << workload.status().ToString();
    if (!FindFamily(family)->Accepts(*workload, HopperTarget())) continue;
    CheckFamily(rng, *workload, *FindFamily(family), 3, kExact);
  }
}

TEST(TensorContractionOfBytes, Products) { CheckDrawn("tensor_contraction", ByteProduct, 30); }
TEST(TensorContractionOfBytes, Convolutions) {
  CheckDrawn("tensor_contraction", ByteConvolution, 40);
}
TEST(TensorContractionOfBytes, Images) {
  CheckDrawn("tensor_contraction", ByteImageConvolution, 6);
}

// However operands lie: what cannot be copied in words is copied by the byte.
TEST(TensorContractionOfBytes, AnyStrides) {
  Rng rng(82);
  for (int i = 0; i < 120 && !HasFailure(); ++i) {
    CheckFamily(rng, RandomByteProduct(rng), *FindFamily("tensor_contraction"), 2, 1e-6);
  }
}

TEST(RoleContractionOfBytes, Products) { CheckDrawn("role_contraction", ByteProduct, 60); }
TEST(RoleContractionOfBytes, Convolutions) { CheckDrawn("role_contraction", ByteConvolution, 60); }

// Families of floats leave them alone.
TEST(TensorContractionOfBytes, HaveNoFamilyOfFloats) {
  Rng rng(83);
  for (int i = 0; i < 40; ++i) {
    const graph::Workload workload = RandomByteProduct(rng);
    for (const Family* family : FamiliesFor(workload, HopperTarget())) {
      const bool takes =
          family->name() == "tensor_contraction" || family->name() == "role_contraction";
      EXPECT_TRUE(takes) << family->name() << workload.ToText();
    }
  }
}

}  // namespace
}  // namespace mlc::schedule
