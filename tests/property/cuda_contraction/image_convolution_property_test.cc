// Convolutions of images: configs of image_convolution interpreted agree with the reference.
#include <gtest/gtest.h>

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

// The default and some of the other configs.
void CheckConfigs(Rng& rng, const std::string& text, int configs, double bound) {
  const Family& family = *FindFamily("image_convolution");
  const target::Target target = HopperTarget();
  CudaCase c = MakeCudaCase(rng, Parsed(text));
  ASSERT_TRUE(family.Accepts(c.workload, target)) << text;
  const auto problem = family.Open(c.workload, target);
  const Space space = problem->MakeSpace();
  const auto check = [&](const Config& config) {
    SCOPED_TRACE(config.ToText() + "\n" + text);
    const double error = CudaError(c, target, config);
    EXPECT_GE(error, 0);
    EXPECT_LE(error, bound);
  };
  check(problem->Default());
  for (int i = 0, legal = 0; i < 1000 && legal < configs; ++i) {
    const Config config =
        space.At(static_cast<int64_t>(rng.Below(static_cast<uint64_t>(space.NumPoints()))));
    if (problem->Check(config) != RejectReason::kNone) continue;
    ++legal;
    check(config);
  }
}

void CheckDrawn(const char* dtype, const char* attributes, double bound) {
  Rng rng(41);
  for (int i = 0; i < 16 && !::testing::Test::HasFailure(); ++i) {
    CheckConfigs(rng, ImageConvolution(rng, dtype, attributes), 3, bound);
  }
}
TEST(ImageConvolutionProperty, HalfPrecision) { CheckDrawn("f16", "", 2e-3); }
TEST(ImageConvolutionProperty, BFloat16) { CheckDrawn("bf16", "", 2e-2); }
TEST(ImageConvolutionProperty, Tf32) { CheckDrawn("f32", "precision=tf32", 3e-3); }

std::string OfImage(const std::string& image, const std::string& dims, const std::string& conv) {
  return "workload v1 tolerance=1e-2 {\n" + image + conv + dims + "\n}\n";
}

// The first layer of ResNet on a small image: a cast on the way, and pads that no vector ends at.
TEST(ImageConvolutionProperty, CastsOnTheWay) {
  Rng rng(43);
  CheckConfigs(rng,
               OfImage("%0 = input() : f32[1,3,36,40]\n%1 = weight() : f16[64,3,7,7]\n"
                       "%2 = weight() : f16[64,1,1]\n%3 = cast(%0) : f16[1,3,36,40]\n",
                       "%5 = add(%4, %2) : f16[1,64,18,20]{23040,1,1280,64}\nreturn %5",
                       "%4 = conv(%3, %1) {dilations=[1,1], group=1, pads=[3,3,3,3], "
                       "strides=[2,2]} : f16[1,64,18,20]\n"),
               12, 2e-3);
}

// Outside of the image is zero, not what a pixel of zero becomes.
TEST(ImageConvolutionProperty, NormalisesOnTheWay) {
  Rng rng(47);
  CheckConfigs(rng,
               OfImage("%0 = input() : f32[2,1,13,21]\n%1 = weight() : f16[24,1,3,3]\n"
                       "%2 = constant() {value=0.5} : f32[]\n%3 = sub(%0, %2) : f32[2,1,13,21]\n"
                       "%4 = cast(%3) : f16[2,1,13,21]\n",
                       "return %5",
                       "%5 = conv(%4, %1) {dilations=[1,1], group=1, pads=[1,1,1,1], "
                       "strides=[1,1]} : f16[2,24,13,21]\n"),
               8, 2e-3);
}

}  // namespace
}  // namespace mlc::schedule
