// Products of float8 whose results are float8, too, and those of scaled blocks: configs of both
// families that take them, interpreted, agree with the reference.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "tests/property/cuda_contraction/cuda_case.h"
#include "tests/workloads/aligned_contraction.h"

namespace mlc::schedule {
namespace {

// A code beside the reference's differs by up to a fourteenth of the largest number.
constexpr double kOtherCode = 8e-2;

graph::Workload Parsed(const std::string& text) {
  auto workload = graph::Workload::Parse(text);
  EXPECT_TRUE(workload.ok()) << workload.status().ToString() << text;
  return *workload;
}

target::Target WithMultiprocessors(int sms) {
  target::Target target = HopperTarget();
  target.gpu().sms = sms;
  return target;
}

// Up to `most` configs that `wanted` takes; returns how many.
int CheckWhere(const graph::Workload& workload, const char* family, int sms, int most,
               int64_t every, double bound, const std::function<bool(const Config&)>& wanted) {
  const target::Target target = WithMultiprocessors(sms);
  if (!FindFamily(family)->Accepts(workload, target)) return -1;
  Rng rng(19);
  CudaCase c = MakeCudaCase(rng, workload);
  const auto problem = FindFamily(family)->Open(c.workload, target);
  const Space space = problem->MakeSpace();
  int seen = 0;
  for (int64_t rank = 0; rank < space.NumPoints() && seen < most; rank += every) {
    const Config config = space.At(rank);
    if (!wanted(config) || problem->Check(config) != RejectReason::kNone) continue;
    ++seen;
    SCOPED_TRACE(config.ToText() + workload.ToText());
    const double error = CudaError(c, target, config);
    EXPECT_GE(error, 0);
    EXPECT_LE(error, bound);
    if (::testing::Test::HasFailure()) break;
  }
  return seen;
}

// A gate: sums times their scales times another tensor, rounded to float8.
std::string Gate(const std::string& dtype, int64_t rows) {
  const std::string m = std::to_string(rows);
  const std::string out = dtype + "[" + m + ",160]\n";
  return "workload v1 tolerance=4e-3 {\n%0 = input() : f8e4m3fn[" + m +
         ",256]\n%1 = weight() : f8e4m3fn[256,160]\n%2 = weight() : f32[160]\n%3 = input() : " +
         out + "%4 = matmul(%0, %1) : f32[" + m + ",160]\n%5 = mul(%4, %2) : f32[" + m +
         ",160]\n%6 = cast(%5) : " + out + "%7 = mul(%3, %6) : " + out +
         "%8 = cast(%7) : f8e4m3fn[" + m + ",160]\nreturn %8\n}\n";
}

TEST(Float8Results, PassThroughSharedMemoryInTwoBytes) {
  for (const char* const dtype : {"f16", "bf16"}) {
    const graph::Workload workload = Parsed(Gate(dtype, 328));
    for (const int alternate : {0, 1}) {
      const auto carried = [&](const Config& config) {
        return config["storers"] > 0 && config["alternate"] == alternate;
      };
      EXPECT_GT(CheckWhere(workload, "role_contraction", 2, 6, 5, kOtherCode, carried), 4);
    }
    const auto other = [](const Config& config) { return config["storers"] == 0; };
    EXPECT_GT(CheckWhere(workload, "role_contraction", 4, 6, 11, kOtherCode, other), 4);
  }
}

TEST(Float8Results, OfColumnsAlone) {
  const graph::Workload workload = Parsed(
      "workload v1 tolerance=4e-3 {\n%0 = input() : f8e4m3fn[200,256]\n%1 = weight() : "
      "f8e4m3fn[256,128]\n%2 = weight() : f32[128]\n%3 = matmul(%0, %1) : f32[200,128]\n%4 = "
      "mul(%3, %2) : f32[200,128]\n%5 = cast(%4) : f16[200,128]\n%6 = cast(%5) : "
      "f8e5m2[200,128]\nreturn %6\n}\n");
  const auto any = [](const Config&) { return true; };
  // Of e5m2, whose steps are twice as wide.
  EXPECT_GT(CheckWhere(workload, "role_contraction", 4, 12, 37, 2 * kOtherCode, any), 8);
}

TEST(ScaledBlocks, AreMultipliedByRoles) {
  Rng rng(51);
  int seen = 0;
  for (int i = 0; i < 60 && seen < 10 && !HasFailure(); ++i) {
    const char* const dtype = i % 2 == 0 ? "f32" : "f16";
    const graph::Workload workload = Parsed(Float8Blocks(rng, dtype));
    if (workload.Flops() > 3e7) continue;
    const int sms = i % 3 == 0 ? 2 : 132;
    const int configs = CheckWhere(workload, "role_contraction", sms, 4, 17,
                                   i % 2 == 0 ? 4e-6 : 2e-3, [](const Config&) { return true; });
    seen += configs > 0 ? 1 : 0;
  }
  EXPECT_EQ(seen, 10);
}

TEST(ScaledBlocks, AreMultipliedWithoutMatrixUnits) {
  Rng rng(52);
  for (int i = 0; i < 4 && !HasFailure(); ++i) {
    const graph::Workload workload = Parsed(Float8Blocks(rng, i % 2 == 0 ? "f32" : "f16"));
    EXPECT_GT(CheckWhere(workload, "simt_contraction", 132, 2, 91, i % 2 == 0 ? 4e-6 : 2e-3,
                         [](const Config&) { return true; }),
              0);
  }
}

TEST(ScaledBlocks, BelongToTheseFamilies) {
  Rng rng(53);
  const graph::Workload workload = Parsed(Float8Blocks(rng, "f16"));
  for (const Family* family : Families()) {
    const bool takes = family->Accepts(workload, HopperTarget());
    const bool may = family->name() == "role_contraction" || family->name() == "simt_contraction";
    EXPECT_EQ(takes, may) << family->name();
  }
}

}  // namespace
}  // namespace mlc::schedule
