// Random contractions lowered by the GPU families and interpreted agree with the reference.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "compiler/graph/evaluate/evaluate.h"
#include "compiler/graph/tensor_io.h"
#include "tests/property/cuda_contraction/cuda_case.h"
#include "tests/workloads/aligned_contraction.h"
#include "tests/workloads/contraction.h"
#include "tests/workloads/few_rows.h"

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
  return widest == DType::kF16 ? 4e-3 : widest == DType::kBF16 ? 5e-2 : 1e-5;
}

void CheckFamily(Rng& rng, graph::Workload workload, const Family& family, int configs,
                 double tolerance) {
  const target::Target target = HopperTarget();
  ASSERT_TRUE(family.Accepts(workload, target)) << workload.ToText();
  CudaCase c = MakeCudaCase(rng, std::move(workload));
  const double bound = tolerance > 0 ? tolerance : Bound(c.workload);
  const auto check = [&](const Config& config) {
    SCOPED_TRACE(config.ToText() + "\n" + c.workload.ToText());
    const double error = CudaError(c, target, config);
    EXPECT_GE(error, 0);
    EXPECT_LE(error, bound);
  };
  const Space space = family.MakeSpace(c.workload, target);
  ASSERT_LE(space.NumPoints(), int64_t{1} << 20);
  const Config usual = family.Default(c.workload, target);
  ASSERT_EQ(family.Check(c.workload, target, usual), RejectReason::kNone) << usual.ToText() << "\n"
                                                                          << c.workload.ToText();
  ASSERT_GE(space.RankOf(usual), 0) << usual.ToText();
  check(usual);
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
  for (int i = 0; i < 300 && !HasFailure(); ++i) {
    CheckFamily(rng, RandomContraction(rng), *FindFamily("tensor_contraction"), 3, 0);
  }
}

graph::Workload Parsed(const std::string& text) {
  auto workload = graph::Workload::Parse(text);
  EXPECT_TRUE(workload.ok()) << workload.status().ToString() << "\n" << text;
  return *workload;
}

void CheckAligned(const std::string& family, const std::string& dtype,
                  const std::string& attributes, double bound, int count = 40) {
  Rng rng(7 + dtype.size() + attributes.size());
  for (int i = 0; i < count && !::testing::Test::HasFailure(); ++i) {
    CheckFamily(rng, Parsed(AlignedProduct(rng, dtype, attributes)), *FindFamily(family), 3, bound);
    if (::testing::Test::HasFailure()) return;
    CheckFamily(rng, Parsed(AlignedConvolution(rng, dtype, attributes)), *FindFamily(family), 3,
                bound);
  }
}

TEST(SimtContractionProperty, LoweredConfigsAgreeWithTheReference) {
  Rng rng(20252);
  for (int i = 0; i < 200 && !HasFailure(); ++i) {
    CheckFamily(rng, RandomContraction(rng), *FindFamily("simt_contraction"), 3, 0);
  }
}
TEST(SimtContractionProperty, AlignedOperands) {
  CheckAligned("simt_contraction", "f32", "", 2e-6, 12);
  CheckAligned("simt_contraction", "f16", "", 2e-3, 12);
}

TEST(SkinnyContractionProperty, LoweredConfigsAgreeWithTheReference) {
  Rng rng(20253);
  const Family& family = *FindFamily("skinny_contraction");
  int seen = 0;
  for (int i = 0; i < 4000 && seen < 60 && !HasFailure(); ++i) {
    graph::Workload workload = RandomContraction(rng);
    if (!family.Accepts(workload, HopperTarget())) continue;
    ++seen;
    CheckFamily(rng, std::move(workload), family, 3, 0);
  }
  EXPECT_EQ(seen, 60);
}
TEST(SkinnyContractionProperty, LongReductions) {
  Rng rng(3);
  for (const char* dtype : {"f16", "bf16", "f32"}) {
    const std::string t = dtype;
    for (int m : {1, 3, 8}) {
      const std::string y = t + "[" + std::to_string(m) + ",41]";
      CheckFamily(rng,
                  Parsed("workload v1 tolerance=1e-3 {\n  %0 = input() : " + t + "[" +
                         std::to_string(m) + ",1500]\n  %1 = weight() : " + t +
                         "[1500,41]\n  %2 = matmul(%0, %1) : " + y + "\n  %3 = weight() : " + t +
                         "[41]\n  %4 = add(%2, %3) : " + y + "\n  return %4\n}\n"),
                  *FindFamily("skinny_contraction"), 4,
                  t == "f32"   ? 2e-6
                  : t == "f16" ? 2e-3
                               : 2e-2);
    }
  }
}

void CheckFewBits(const char* dtype, double bound) {
  Rng rng(19);
  for (int i = 0; i < 60 && !::testing::Test::HasFailure(); ++i) {
    CheckFamily(rng, Parsed(FewBitsProduct(rng, dtype)), *FindFamily("few_bits_contraction"), 4,
                bound);
  }
}
TEST(FewBitsContractionProperty, HalfPrecision) { CheckFewBits("f16", 2e-3); }
TEST(FewBitsContractionProperty, BFloat16) { CheckFewBits("bf16", 2e-2); }

void CheckPackedFloat8(const char* dtype, double bound) {
  Rng rng(23);
  for (int i = 0; i < 60 && !::testing::Test::HasFailure(); ++i) {
    CheckFamily(rng, Parsed(PackedFloat8Product(rng, dtype)), *FindFamily("few_bits_contraction"),
                4, bound);
  }
}
TEST(FewBitsContractionProperty, Float8InHalfPrecision) { CheckPackedFloat8("f16", 2e-3); }
TEST(FewBitsContractionProperty, Float8InBFloat16) { CheckPackedFloat8("bf16", 2e-2); }

void CheckFewRowsOfFloat8(const char* dtype, double bound) {
  Rng rng(37);
  for (int i = 0; i < 60 && !::testing::Test::HasFailure(); ++i) {
    CheckFamily(rng, Parsed(FewRowsOfFloat8(rng, dtype)), *FindFamily("few_bits_contraction"), 4,
                bound);
  }
}
TEST(FewRowsProperty, Float8InHalfPrecision) { CheckFewRowsOfFloat8("f16", 4e-3); }
TEST(FewRowsProperty, Float8InBFloat16) { CheckFewRowsOfFloat8("bf16", 3e-2); }

void CheckFewRows(const char* family, const char* dtype, bool is_packed, double bound) {
  Rng rng(31);
  for (int i = 0; i < 60 && !::testing::Test::HasFailure(); ++i) {
    CheckFamily(rng, Parsed(FewRowsProduct(rng, dtype, is_packed)), *FindFamily(family), 4, bound);
  }
}
TEST(FewRowsProperty, FloatsInF32) { CheckFewRows("skinny_contraction", "f32", false, 1e-5); }
TEST(FewRowsProperty, FloatsInHalfPrecision) {
  CheckFewRows("skinny_contraction", "f16", false, 4e-3);
}
TEST(FewRowsProperty, FloatsInBFloat16) { CheckFewRows("skinny_contraction", "bf16", false, 3e-2); }
TEST(FewRowsProperty, FewBitsInHalfPrecision) {
  CheckFewRows("few_bits_contraction", "f16", true, 4e-3);
}
TEST(FewRowsProperty, FewBitsInBFloat16) {
  CheckFewRows("few_bits_contraction", "bf16", true, 3e-2);
}

// Other families compute what follows from the anchor itself, from operands.
TEST(FewRowsProperty, OtherFamiliesTakeNone) {
  Rng rng(5);
  for (int i = 0; i < 40; ++i) {
    const graph::Workload workload = Parsed(FewRowsProduct(rng, "bf16", i % 2 == 0));
    const std::vector<const Family*> families = FamiliesFor(workload, HopperTarget());
    ASSERT_EQ(families.size(), 1u) << workload.ToText();
    EXPECT_EQ(families[0]->name(), i % 2 == 0 ? "few_bits_contraction" : "skinny_contraction");
  }
}

TEST(CacheUpdateProperty, LoweredConfigsAgreeWithTheReference) {
  Rng rng(8);
  for (int i = 0; i < 60 && !HasFailure(); ++i) {
    CheckFamily(rng, Parsed(RandomCacheUpdate(rng).text), *FindFamily("gpu_pointwise"), 3, 3e-2);
  }
}

// One row that picks a weight: all but the rounding of the result must be as in the reference.
TEST(FewBitsContractionProperty, WeightsHaveTheBitsOfTheReference) {
  struct Form {
    std::string codes;
    int bits;
    bool has_zeros = true;
  };
  for (const std::string dtype : {"f16", "bf16"}) {
    for (const Form& form : {Form{"u8", 2}, Form{"u8", 4}, Form{"u8", 8},
                             Form{"f8e4m3fn", 8, false}, Form{"f8e5m2", 8, false}}) {
      const int bits = form.bits;
      const std::string bytes = std::to_string(64 * bits / 8), b = std::to_string(bits);
      Rng rng(static_cast<uint64_t>(bits));
      CudaCase c = MakeCudaCase(
          rng, Parsed("workload v1 tolerance=1e-3 {\n  %0 = input() : " + dtype +
                      "[1,64]\n  %1 = weight() : " + form.codes + "[40," + bytes +
                      "]\n  %2 = weight() : " + dtype + "[40,2]\n  %3 = " +
                      (form.has_zeros ? "weight() : u8[40,2]" : "constant() {value=0.0} : f32[]") +
                      "\n  %4 = dequantize(%1, %2" + (form.has_zeros ? ", %3" : "") +
                      ") {bits=" + b + ", block=32, depth=64, zero=0} : " + dtype +
                      "[64,40]\n  %5 = matmul(%0, %4) : " + dtype + "[1,40]\n  return %5\n}\n"));
      std::vector<double> one(64, 0);
      one[37] = 1;
      const DType type = dtype == "f16" ? DType::kF16 : DType::kBF16;
      const graph::TensorDataRef row = graph::WriteDoubles(type, {1, 64}, one);
      c.operands[0].assign(row->bytes.begin(), row->bytes.end());
      std::vector<graph::TensorDataRef> sources;
      for (size_t i = 0; i < c.operands.size(); ++i) {
        const graph::TensorType& at = c.workload.graph()[c.workload.operands()[i]].type;
        sources.push_back(graph::MakeTensorData(at.dtype, at.dims, c.operands[i]));
      }
      c.reference = *graph::Evaluate(c.workload.graph(), sources);
      const Family& family = *FindFamily("few_bits_contraction");
      const target::Target target = HopperTarget();
      EXPECT_EQ(CudaError(c, target, family.Default(c.workload, target)), 0) << dtype << bits;
    }
  }
}

TEST(TensorContractionProperty, HalfPrecision) {
  CheckAligned("tensor_contraction", "f16", "", 2e-3);
}
TEST(TensorContractionProperty, BFloat16) { CheckAligned("tensor_contraction", "bf16", "", 2e-2); }
TEST(TensorContractionProperty, Tf32) {
  CheckAligned("tensor_contraction", "f32", "precision=tf32", 3e-3);
}

// Those of the drawn that the family takes.
void CheckWarpgroups(const char* dtype, const char* attributes, double bound) {
  const Family& family = *FindFamily("warpgroup_contraction");
  Rng rng(11);
  int seen = 0;
  for (int i = 0; i < 1000 && seen < 24 && !::testing::Test::HasFailure(); ++i) {
    graph::Workload workload = Parsed(i % 2 == 0 ? AlignedProduct(rng, dtype, attributes)
                                                 : AlignedConvolution(rng, dtype, attributes));
    if (!family.Accepts(workload, HopperTarget())) continue;
    ++seen;
    CheckFamily(rng, std::move(workload), family, 4, bound);
  }
  EXPECT_EQ(seen, 24);
}
TEST(WarpgroupContractionProperty, HalfPrecision) { CheckWarpgroups("f16", "", 2e-3); }
TEST(WarpgroupContractionProperty, BFloat16) { CheckWarpgroups("bf16", "", 2e-2); }
TEST(WarpgroupContractionProperty, Tf32) { CheckWarpgroups("f32", "precision=tf32", 3e-3); }
TEST(WarpgroupContractionProperty, ThreePassTf32) { CheckWarpgroups("f32", "", 2e-6); }

// Products of which the family takes those with aligned rows.
void CheckRoles(const char* dtype, const char* attributes, double bound) {
  const Family& family = *FindFamily("role_contraction");
  Rng rng(13);
  int seen = 0;
  for (int i = 0; i < 1000 && seen < 16 && !::testing::Test::HasFailure(); ++i) {
    graph::Workload workload = Parsed(AlignedProduct(rng, dtype, attributes));
    if (!family.Accepts(workload, HopperTarget())) continue;
    ++seen;
    CheckFamily(rng, std::move(workload), family, 4, bound);
  }
  EXPECT_EQ(seen, 16);
}
TEST(RoleContractionProperty, HalfPrecision) { CheckRoles("f16", "", 2e-3); }
TEST(RoleContractionProperty, BFloat16) { CheckRoles("bf16", "", 2e-2); }
TEST(RoleContractionProperty, Tf32) { CheckRoles("f32", "precision=tf32", 3e-3); }

// Whose sums the interpreter does not cut as the unit does.
TEST(RoleContractionProperty, Float8) {
  const Family& family = *FindFamily("role_contraction");
  Rng rng(23);
  int seen = 0;
  for (int i = 0; i < 400 && seen < 16 && !HasFailure(); ++i) {
    const char* const dtype = i % 3 == 0 ? "f32" : i % 3 == 1 ? "f16" : "bf16";
    graph::Workload workload = Parsed(Float8Product(rng, dtype));
    if (!family.Accepts(workload, HopperTarget()) || workload.Flops() > 3e7) continue;
    ++seen;
    CheckFamily(rng, std::move(workload), family, 4, i % 3 == 0 ? 2e-6 : i % 3 == 1 ? 2e-3 : 2e-2);
  }
  EXPECT_EQ(seen, 16);
}
TEST(SimtContractionProperty, Float8) {
  Rng rng(24);
  for (int i = 0; i < 2 && !HasFailure(); ++i) {
    CheckFamily(rng, Parsed(Float8Product(rng, "f16")), *FindFamily("simt_contraction"), 2, 2e-3);
  }
}

// The unit's sums of a deep product err more than the tolerance, unless each step's are apart.
TEST(RoleContractionProperty, DeepFloat8SumsAreApartWhereTheToleranceAsksForIt) {
  const auto count = [](const char* tolerance, int apart) {
    const graph::Workload workload =
        Parsed(std::string("workload v1 tolerance=") + tolerance +
               " {\n  %0 = input() : f8e4m3fn[1024,8192]\n  %1 = weight() : f8e4m3fn[8192,1024]\n"
               "  %2 = matmul(%0, %1) : f32[1024,1024]\n  %3 = cast(%2) : bf16[1024,1024]\n  "
               "return %3\n}\n");
    const target::Target target = HopperTarget();
    const auto problem = FindFamily("role_contraction")->Open(workload, target);
    const Space space = problem->MakeSpace();
    int legal = 0;
    for (int64_t rank = 0; rank < space.NumPoints(); ++rank) {
      const Config config = space.At(rank);
      if (config["apart"] != apart || config["split"] > 1) continue;
      legal += problem->Check(config) == RejectReason::kNone ? 1 : 0;
    }
    return legal;
  };
  EXPECT_EQ(count("4e-3", 0), 0);
  EXPECT_GT(count("4e-3", 1), 10);
  EXPECT_GT(count("3e-2", 0), 10);
  EXPECT_GT(count("3e-2", 1), 10);
}

target::Target SmallHopper(int sms) {
  const auto target =
      target::Target::Parse("target v1 cuda arch=sm_90a sms=" + std::to_string(sms) +
                            " block=232448 sm=233472 l2=62914560 fma_gflops=60000 "
                            "tensor_gflops=800000 copy_gbps=4350");
  EXPECT_TRUE(target.ok()) << target.status().ToString();
  return *target;
}

// Up to `most` configs of role_contraction that `wanted` takes agree with the reference; returns
// how many.
int CheckRolesWhere(const std::string& body, int sms, int most, int64_t every, double bound,
                    const std::function<bool(const Config&)>& wanted) {
  const target::Target target = SmallHopper(sms);
  Rng rng(17);
  CudaCase c = MakeCudaCase(rng, Parsed("workload v1 tolerance=1e-3 {\n" + body + "}\n"));
  const auto problem = FindFamily("role_contraction")->Open(c.workload, target);
  const Space space = problem->MakeSpace();
  int seen = 0;
  for (int64_t rank = 0; rank < space.NumPoints() && seen < most; rank += every) {
    const Config config = space.At(rank);
    if (!wanted(config) || problem->Check(config) != RejectReason::kNone) continue;
    ++seen;
    SCOPED_TRACE(config.ToText());
    const double error = CudaError(c, target, config);
    EXPECT_GE(error, 0);
    EXPECT_LE(error, bound);
  }
  return seen;
}

constexpr const char* kBiased =
    "%0 = input() : f16[328,200]\n%1 = weight() : f16[200,136]\n%2 = matmul(%0, %1) : "
    "f16[328,136]\n%3 = weight() : f16[136]\n%4 = add(%2, %3) : f16[328,136]\nreturn %4\n";

// Where a block has several tiles, stages and barriers go on from one to the next.
TEST(RoleContractionProperty, BlocksGoThroughSeveralTiles) {
  for (const int alternate : {0, 1}) {
    const auto wanted = [&](const Config& config) { return config["alternate"] == alternate; };
    EXPECT_GT(CheckRolesWhere(kBiased, 2, 20, 7, 2e-3, wanted), 5);
  }
}

// Results of two and four bytes, and the operand that lies beside them, pass through shared memory
// while the next tile is multiplied.
TEST(RoleContractionProperty, StorersCarryResults) {
  const std::string product =
      "%0 = input() : f16[328,200]\n%1 = weight() : f16[200,160]\n%2 = matmul(%0, %1) : "
      "f16[328,160]\n%3 = weight() : f16[160]\n%4 = add(%2, %3) : f16[328,160]\n";
  const std::string other = "%5 = input() : f16[328,160]\n";
  const std::string bodies[] = {
      product + "return %4\n", product + other + "%6 = add(%4, %5) : f16[328,160]\nreturn %6\n",
      product + other +
          "%6 = sigmoid(%5) : f16[328,160]\n%7 = mul(%6, %5) : f16[328,160]\n%8 = mul(%4, %7) : "
          "f16[328,160]\nreturn %8\n",
      "%0 = input() : bf16[2,96,136]\n%1 = weight() : bf16[136,192]\n%2 = matmul(%0, %1) : "
      "bf16[2,96,192]\n%3 = input() : bf16[2,96,192]\n%4 = add(%2, %3) : bf16[2,96,192]\n"
      "return %4\n",
      "%0 = input() : f32[328,200]\n%1 = weight() : f32[200,160]\n%2 = matmul(%0, %1) "
      "{precision=tf32} : f32[328,160]\n%3 = input() : f32[328,160]\n%4 = add(%2, %3) : "
      "f32[328,160]\nreturn %4\n"};
  for (const std::string& body : bodies) {
    const double bound = body.find("bf16") == std::string::npos ? 4e-3 : 3e-2;
    for (const int alternate : {0, 1}) {
      const auto wanted = [&](const Config& config) {
        return config["storers"] > 0 && config["alternate"] == alternate;
      };
      EXPECT_GT(CheckRolesWhere(body, 2, 8, 3, bound, wanted), 4) << body;
    }
  }
}

// Tiles of 80 or 112 columns: results of two bytes, of four, those that storers carry, and parts.
TEST(RoleContractionProperty, TilesMayHaveHalfAChunk) {
  const auto half = [](const Config& config) { return config["bn"] % 32 != 0; };
  const auto product = [](const std::string& dtype, const std::string& attributes) {
    const std::string of = " : " + dtype;
    return "%0 = input()" + of + "[200,600]\n%1 = weight()" + of +
           "[600,160]\n%2 = matmul(%0, %1)" + attributes + of + "[200,160]\n";
  };
  const std::string halves = product("f16", ""), other = "%3 = input() : f16[200,160]\n";
  const std::string residual = halves + other + "%4 = add(%2, %3) : f16[200,160]\nreturn %4\n";
  EXPECT_GT(CheckRolesWhere(kBiased, 7, 6, 41, 4e-3, half), 4);
  EXPECT_GT(
      CheckRolesWhere(product("f32", " {precision=tf32}") + "return %2\n", 7, 6, 43, 4e-3, half),
      4);
  for (const char* knob : {"storers", "split", "cluster"}) {
    const auto wanted = [&](const Config& config) { return half(config) && config[knob] > 1; };
    EXPECT_GT(CheckRolesWhere(residual, 14, 6, 7, 4e-3, wanted), 3) << knob;
  }
}

TEST(RoleContractionProperty, BlocksShareTheDepthOfATile) {
  const std::string body =
      "%0 = input() : f16[100,1800]\n%1 = weight() : f16[1800,136]\n%2 = matmul(%0, %1) : "
      "f16[100,136]\n%3 = input() : f16[100,136]\n%4 = add(%2, %3) : f16[100,136]\nreturn %4\n";
  const auto wanted = [](const Config& config) { return config["split"] > 1; };
  EXPECT_GT(CheckRolesWhere(body, 132, 16, 11, 4e-3, wanted), 8);
}

// Blocks of a cluster share what they copy; tiles outside the matrix take part in that.
TEST(RoleContractionProperty, BlocksOfAClusterShareCopies) {
  const std::string bodies[] = {
      kBiased,
      "%0 = input() : bf16[200,136]\n%1 = input() : bf16[136,168]{1,136}\n"
      "%2 = matmul(%0, %1) : bf16[200,168]\n%3 = input() : bf16[200,168]\n"
      "%4 = add(%2, %3) : bf16[200,168]\nreturn %4\n",
      "%0 = input() : f16[192,136]\n%1 = weight() : f16[136,160]\n%2 = matmul(%0, %1) : "
      "f16[192,160]\n%3 = input() : f16[192,160]\n%4 = add(%2, %3) : f16[192,160]\nreturn %4\n"};
  for (const std::string& body : bodies) {
    const double bound = body.find("bf16") == std::string::npos ? 4e-3 : 3e-2;
    for (const int cluster : {2, -2}) {
      for (const int alternate : {0, 1}) {
        const auto wanted = [&](const Config& config) {
          return config["cluster"] == cluster && config["alternate"] == alternate;
        };
        EXPECT_GT(CheckRolesWhere(body, 7, 3, 29, bound, wanted), 1) << body << cluster;
      }
      const auto carried = [&](const Config& config) {
        return config["cluster"] == cluster && config["storers"] > 0;
      };
      if (body.find("160") == std::string::npos) continue;  // columns of no whole chunks
      EXPECT_GT(CheckRolesWhere(body, 7, 3, 31, bound, carried), 1) << body << cluster;
    }
  }
}

graph::Workload LongProduct(int k, const std::string& attributes, int rows = 16) {
  const std::string depth = std::to_string(k), m = std::to_string(rows);
  return Parsed("workload v1 tolerance=1e-5 {\n  %0 = input() : f32[" + m + "," + depth +
                "]\n  %1 = weight() : f32[" + depth + ",32]\n  %2 = matmul(%0, %1)" + attributes +
                " : f32[" + m + ",32]\n  return %2\n}\n");
}

// Largest error of plain f32 sums of the case's product, over the largest result.
double PlainError(const CudaCase& c, int m, int k) {
  const int n = 32;
  std::vector<float> a(static_cast<size_t>(m * k)), b(static_cast<size_t>(k * n));
  std::memcpy(a.data(), c.operands[0].data(), c.operands[0].size());
  std::memcpy(b.data(), c.operands[1].data(), c.operands[1].size());
  double worst = 0, scale = 0;
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      float plain = 0;
      double exact = 0;
      for (int t = 0; t < k; ++t) {
        const float x = a[static_cast<size_t>(i * k + t)], y = b[static_cast<size_t>(t * n + j)];
        plain += x * y;
        exact += static_cast<double>(x) * y;
      }
      worst = std::max(worst, std::abs(plain - exact));
      scale = std::max(scale, std::abs(exact));
    }
  }
  return worst / scale;
}

// Three passes count as f32 because their error is no larger than that of a plain f32 sum; also
// where all terms have one sign, so that what is always cut off adds up.
void CheckThreePasses(const std::string& name, int rows, std::initializer_list<int> depths) {
  const target::Target target = HopperTarget();
  const Family& family = *FindFamily(name);
  for (const double low : {-1.0, 0.0, 0.9}) {
    for (const int k : depths) {
      Rng rng(static_cast<uint64_t>(k));
      CudaCase c = MakeCudaCase(rng, LongProduct(k, "", rows), low);
      ASSERT_TRUE(family.Accepts(c.workload, target)) << name << " " << k;
      const double error = CudaError(c, target, family.Default(c.workload, target));
      EXPECT_GE(error, 0);
      EXPECT_LE(error, PlainError(c, rows, k)) << k << " " << low;
    }
  }
}
TEST(TensorContractionProperty, ThreePassesAreAsExactAsAPlainSum) {
  CheckThreePasses("tensor_contraction", 16, {64, 513, 4608});
}
TEST(WarpgroupContractionProperty, ThreePassesAreAsExactAsAPlainSum) {
  CheckThreePasses("warpgroup_contraction", 64, {64, 516, 4608});
}

// Cutting bits off instead of rounding would be wrong by 2^-11 here.
TEST(TensorContractionProperty, Tf32RoundsWithoutABias) {
  for (const double low : {0.0, 0.5}) {
    Rng rng(5);
    CudaCase c = MakeCudaCase(rng, LongProduct(4608, " {precision=tf32}", 64), low);
    const target::Target target = HopperTarget();
    for (const char* name : {"tensor_contraction", "warpgroup_contraction"}) {
      const Family& family = *FindFamily(name);
      ASSERT_TRUE(family.Accepts(c.workload, target)) << name;
      const double error = CudaError(c, target, family.Default(c.workload, target));
      EXPECT_GE(error, 0);
      EXPECT_LE(error, 6e-5) << name << " " << low;
    }
  }
}

TEST(TensorContractionProperty, ThreePassTf32) {
  CheckAligned("tensor_contraction", "f32", "", 2e-6);
}

}  // namespace
}  // namespace mlc::schedule
