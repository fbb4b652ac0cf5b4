// Convolutions whose input tensor copies bring tap by tap in boxes: configs of role_contraction
// interpreted agree with the reference.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "tests/property/cuda_contraction/cuda_case.h"
#include "tests/workloads/aligned_contraction.h"

namespace mlc::schedule {
namespace {

graph::Workload Parsed(const std::string& text) {
  auto workload = graph::Workload::Parse(text);
  EXPECT_TRUE(workload.ok()) << workload.status().ToString() << "\n" << text;
  return *workload;
}

target::Target HopperOf(int sms) {
  const auto target =
      target::Target::Parse("target v1 cuda arch=sm_90a sms=" + std::to_string(sms) +
                            " block=232448 sm=233472 l2=62914560 fma_gflops=60000 "
                            "tensor_gflops=800000 copy_gbps=4350");
  EXPECT_TRUE(target.ok()) << target.status().ToString();
  return *target;
}

void Check(CudaCase& c, const target::Target& target, const Config& config, double bound) {
  SCOPED_TRACE(config.ToText() + "\n" + c.workload.ToText());
  const double error = CudaError(c, target, config);
  EXPECT_GE(error, 0);
  EXPECT_LE(error, bound);
}

// The default and some of the other configs.
using Generate = std::string (*)(Rng&, const std::string&, const std::string&);
void CheckDrawn(Generate generate, const char* dtype, const char* attributes, double bound) {
  const Family& family = *FindFamily("role_contraction");
  const target::Target target = HopperTarget();
  Rng rng(29);
  int seen = 0;
  for (int i = 0; i < 400 && seen < 12 && !::testing::Test::HasFailure(); ++i) {
    graph::Workload workload = Parsed(generate(rng, dtype, attributes));
    if (!family.Accepts(workload, target)) continue;
    ++seen;
    CudaCase c = MakeCudaCase(rng, std::move(workload));
    const auto problem = family.Open(c.workload, target);
    const Space space = problem->MakeSpace();
    Check(c, target, family.Default(c.workload, target), bound);
    for (int j = 0, legal = 0; j < 1000 && legal < 3; ++j) {
      const Config config =
          space.At(static_cast<int64_t>(rng.Below(static_cast<uint64_t>(space.NumPoints()))));
      if (problem->Check(config) != RejectReason::kNone) continue;
      ++legal;
      Check(c, target, config, bound);
    }
  }
  EXPECT_EQ(seen, 12);
}
TEST(RoleConvolutionProperty, HalfPrecision) { CheckDrawn(WideConvolution, "f16", "", 2e-3); }
TEST(RoleConvolutionProperty, BFloat16) { CheckDrawn(WideConvolution, "bf16", "", 2e-2); }
TEST(RoleConvolutionProperty, Tf32) { CheckDrawn(WideConvolution, "f32", "precision=tf32", 3e-3); }

TEST(RoleConvolutionProperty, WholeTiles) {
  CheckDrawn(EvenConvolution, "f16", "", 2e-3);
  CheckDrawn(EvenConvolution, "f32", "precision=tf32", 3e-3);
}

// Up to `most` configs that `wanted` takes agree with the reference; returns how many.
int CheckWhere(const std::string& body, int sms, int most, int64_t every,
               const std::function<bool(const Config&)>& wanted) {
  const target::Target target = HopperOf(sms);
  Rng rng(31);
  CudaCase c = MakeCudaCase(rng, Parsed("workload v1 tolerance=1e-3 {\n" + body + "}\n"));
  const auto problem = FindFamily("role_contraction")->Open(c.workload, target);
  const Space space = problem->MakeSpace();
  int seen = 0;
  for (int64_t rank = 0; rank < space.NumPoints() && seen < most; rank += every) {
    const Config config = space.At(rank);
    if (!wanted(config) || problem->Check(config) != RejectReason::kNone) continue;
    ++seen;
    Check(c, target, config, 4e-3);
  }
  return seen;
}

// 5 images of 9 x 7 outputs: boxes reach beyond every dimension.
constexpr const char* kResidual =
    "%0 = input() : f16[5,64,9,7]{4032,1,448,64}\n%1 = weight() : f16[96,64,3,3]\n%2 = conv(%0, "
    "%1) {dilations=[1,1],group=1,pads=[1,1,1,1],strides=[1,1]} : f16[5,96,9,7]{6048,1,672,96}\n"
    "%3 = weight() : f16[96,1,1]\n%4 = add(%2, %3) : f16[5,96,9,7]{6048,1,672,96}\n%5 = input() : "
    "f16[5,96,9,7]{6048,1,672,96}\n%6 = add(%4, %5) : f16[5,96,9,7]{6048,1,672,96}\n%7 = abs(%6) "
    ": f16[5,96,9,7]{6048,1,672,96}\nreturn %7\n";

TEST(RoleConvolutionProperty, BlocksGoThroughSeveralTiles) {
  for (const int alternate : {0, 1}) {
    const auto wanted = [&](const Config& config) {
      return config["alternate"] == alternate && config["cluster"] == 1;
    };
    EXPECT_GT(CheckWhere(kResidual, 2, 8, 37, wanted), 4);
  }
}
TEST(RoleConvolutionProperty, StorersCarryResults) {
  const auto wanted = [](const Config& config) {
    return config["storers"] > 0 && config["cluster"] == 1;
  };
  EXPECT_GT(CheckWhere(kResidual, 2, 8, 37, wanted), 4);
  const std::string wide =
      "%0 = input() : f32[5,64,9,7]{4032,1,448,64}\n%1 = weight() : f32[96,64,1,1]\n%2 = conv(%0, "
      "%1) {dilations=[1,1],group=1,pads=[0,0,0,0],precision=tf32,strides=[1,1]} : "
      "f32[5,96,9,7]{6048,1,672,96}\n%3 = input() : f32[5,96,9,7]{6048,1,672,96}\n%4 = add(%2, %3) "
      ": f32[5,96,9,7]{6048,1,672,96}\nreturn %4\n";
  EXPECT_GT(CheckWhere(wide, 2, 8, 37, wanted), 4);
}
TEST(RoleConvolutionProperty, BlocksShareTheDepthOfATile) {
  const auto wanted = [](const Config& config) { return config["split"] > 1; };
  EXPECT_GT(CheckWhere(kResidual, 40, 8, 7, wanted), 4);
}
TEST(RoleConvolutionProperty, BlocksOfAClusterShareCopies) {
  for (const int cluster : {2, -2}) {
    const auto wanted = [&](const Config& config) { return config["cluster"] == cluster; };
    EXPECT_GT(CheckWhere(kResidual, 7, 6, 29, wanted), 3) << cluster;
  }
}

// The last layers of a ResNet: boxes of many images that are wider than an image.
TEST(RoleConvolutionProperty, ManySmallImages) {
  const std::string body =
      "%0 = input() : f16[32,64,7,7]{3136,1,448,64}\n%1 = weight() : f16[64,64,3,3]\n%2 = conv(%0, "
      "%1) {dilations=[1,1],group=1,pads=[1,1,1,1],strides=[1,1]} : f16[32,64,7,7]{3136,1,448,64}\n"
      "%3 = weight() : f16[64,1,1]\n%4 = add(%2, %3) : f16[32,64,7,7]{3136,1,448,64}\nreturn %4\n";
  for (const int bm : {64, 128, 192, 256}) {
    const auto wanted = [&](const Config& config) { return config["bm"] == bm; };
    EXPECT_GT(CheckWhere(body, 40, 6, 7, wanted), 3) << bm;
  }
}

// Boxes of 8 x 8 positions: a stage holds the rows of two or three taps, also where they lie apart.
TEST(RoleConvolutionProperty, TapsShareTheRowsOfAStage) {
  const std::string bodies[] = {
      "%0 = input() : f16[3,64,14,16]{14336,1,1024,64}\n%1 = weight() : f16[64,64,3,3]\n%2 = "
      "conv(%0, %1) {dilations=[1,1],group=1,pads=[1,1,1,1],strides=[1,1]} : "
      "f16[3,64,14,16]{14336,1,1024,64}\nreturn %2\n",
      "%0 = input() : f16[2,128,18,8]{18432,1,1024,128}\n%1 = weight() : f16[40,128,2,1]\n%2 = "
      "conv(%0, %1) {dilations=[2,1],group=1,pads=[0,0,0,0],strides=[1,1]} : "
      "f16[2,40,16,8]{5120,1,320,40}\nreturn %2\n"};
  const auto wanted = [](const Config& config) { return config["reuse"] == 1; };
  for (const std::string& body : bodies) {
    EXPECT_GT(CheckWhere(body, 3, 12, 13, wanted), 4) << body;
  }
}

// The steps of a tensor copy bring every second row and column.
TEST(RoleConvolutionProperty, OneTapAndSteps) {
  const std::string body =
      "%0 = input() : f16[3,136,14,14]{26656,1,1904,136}\n%1 = weight() : f16[64,136,1,1]\n%2 = "
      "conv(%0, %1) {dilations=[1,1],group=1,pads=[0,0,0,0],strides=[2,2]} : "
      "f16[3,64,7,7]{3136,1,448,64}\nreturn %2\n";
  EXPECT_GT(CheckWhere(body, 8, 12, 17, [](const Config&) { return true; }), 8);
}

}  // namespace
}  // namespace mlc::schedule
