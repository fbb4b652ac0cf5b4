// What the families for GPUs generate is CUDA that compiles, for the oldest architecture and for
// the newest, and default configs keep their values in registers. Skips, visibly, without NVRTC.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/rng.h"
#include "compiler/build/nvrtc.h"
#include "compiler/codegen/cuda/cuda.h"
#include "compiler/schedule/space/family.h"

namespace mlc::schedule {
namespace {

struct Case {
  const char* family;
  const char* body;  // of a workload
};

const Case kCases[] = {
    {"gpu_pointwise",
     "%0 = input() : f16[64,768]\n%1 = weight() : f16[768]\n%2 = add(%0, %1) : f16[64,768]\n"
     "%3 = erf(%2) : f16[64,768]\nreturn %3\n"},
    {"gpu_pointwise",
     "%0 = input() : f16[8,64,96]\n%1 = transpose(%0) {perm=[0,2,1]} : f16[8,96,64]\n"
     "%2 = copy(%1) : f16[8,96,64]\nreturn %2\n"},
    {"gpu_pointwise",
     "%0 = input() : f32[2,3,32,32]\n%1 = cast(%0) : f16[2,3,32,32]\n"
     "%2 = pad(%1) {mode=constant,pads=[0,0,0,0,0,5,0,0],value=0.0} : f16[2,8,32,32]\n"
     "%3 = copy(%2) : f16[2,8,32,32]{8192,1,256,8}\nreturn %3\n"},
    {"gpu_pointwise",
     "%0 = weight() : f32[1000,64]\n%1 = input() : i64[2,16]\n"
     "%2 = gather(%0, %1) {axis=0} : f32[2,16,64]\nreturn %2\n"},
    {"gpu_pointwise",
     "%0 = input() : f16[4,1000]\n"
     "%1 = arg(%0) {axis=1,keepdims=0,kind=max,select_last=0} : i64[4]\nreturn %1\n"},
    {"gpu_pointwise",
     "%0 = input() : f32[4,10]\n%1 = cum_sum(%0) {axis=1,exclusive=0,reverse=1} : f32[4,10]\n"
     "return %1\n"},
    {"gpu_pointwise",
     "%0 = input() : i64[8,10]\n%1 = input() : i64[3,1]\n%2 = input() : i64[3,10]\n"
     "%3 = scatter_nd(%0, %1, %2) {reduction=add} : i64[8,10]\nreturn %3\n"},
    {"gpu_pointwise",
     "%0 = input() : f32[1,8,16,16]\n"
     "%1 = resize(%0) {coordinate_mode=half_pixel,mode=linear,nearest_mode=floor,"
     "scales=[1.0,1.0,2.0,2.0]} : f32[1,8,32,32]\nreturn %1\n"},
    {"gpu_pointwise",
     "%0 = input() : f16[64,768]\n%1 = constant() {value=448.0} : f16[]\n"
     "%2 = min(%0, %1) : f16[64,768]\n%3 = cast(%2) : f8e4m3fn[64,768]\nreturn %3\n"},
    {"gpu_pointwise", "%0 = input() : f8e5m2[64,768]\n%1 = cast(%0) : f16[64,768]\nreturn %1\n"},
    {"gpu_row_reduce",
     "%0 = input() : f16[128,768]\n%1 = input() : f16[128,768]\n%2 = weight() : f16[768]\n"
     "%3 = weight() : f16[768]\n%4 = add(%0, %1) : f16[128,768]\n"
     "%5 = layer_norm(%4, %2, %3) {axis=1,epsilon=1e-05} : f16[128,768]\nreturn %5, %4\n"},
    {"gpu_row_reduce",
     "%0 = input() : f32[12,128,197]\n%1 = softmax(%0) {axis=2} : f32[12,128,197]\nreturn %1\n"},
    {"gpu_row_reduce",
     "%0 = input() : f32[1,1000]\n%1 = log_softmax(%0) {axis=1} : f32[1,1000]\nreturn %1\n"},
    {"gpu_row_reduce",
     "%0 = input() : f16[1,256,7,7]{12544,1,1792,256}\n"
     "%1 = reduce(%0) {axes=[2,3],keepdims=1,kind=mean} : f16[1,256,1,1]\nreturn %1\n"},
    {"gpu_row_reduce",
     "%0 = input() : f32[4194304]\n%1 = reduce(%0) {axes=[0],keepdims=0,kind=sum} : f32[]\n"
     "return %1\n"},
    {"gpu_row_reduce",
     "%0 = input() : f64[16,100]\n%1 = reduce(%0) {axes=[1],keepdims=0,kind=log_sum_exp} : "
     "f64[16]\n"
     "return %1\n"},
    {"gpu_pool",
     "%0 = input() : f16[1,64,112,112]{802816,1,7168,64}\n"
     "%1 = pool(%0) {count_include_pad=0,dilations=[1,1],kernel=[3,3],kind=max,pads=[1,1,1,1],"
     "strides=[2,2]} : f16[1,64,56,56]{200704,1,3584,64}\nreturn %1\n"},
    {"gpu_depthwise",
     "%0 = input() : f16[1,96,28,28]{75264,1,2688,96}\n%1 = weight() : f16[96,1,3,3]\n"
     "%2 = conv(%0, %1) {dilations=[1,1],group=96,pads=[1,1,1,1],strides=[1,1]} : "
     "f16[1,96,28,28]{75264,1,2688,96}\nreturn %2\n"},
    {"gpu_attention",
     "%0 = input() : f16[1,12,128,64]{294912,64,2304,1}\n"
     "%1 = input() : f16[1,12,128,64]{294912,64,2304,1}\n"
     "%2 = input() : f16[1,12,128,64]{294912,64,2304,1}\n%3 = weight() : f16[1,1,128,128]\n"
     "%4 = attention(%0, %1, %2, %3) {scale=0.125} : f16[1,12,128,64]{98304,64,768,1}\n"
     "return %4\n"},
    {"gpu_attention",
     "%0 = input() : f32[1,12,197,64]\n%1 = input() : f32[1,12,197,64]\n"
     "%2 = input() : f32[1,12,197,64]\n"
     "%3 = attention(%0, %1, %2) {scale=0.125} : f32[1,12,197,64]\nreturn %3\n"},
};

const char* const kTargets[] = {
    "target v1 cuda arch=sm_90a sms=132 block=232448 sm=233472 l2=62914560 fma_gflops=60000 "
    "tensor_gflops=800000 copy_gbps=4350",
    "target v1 cuda arch=sm_80 sms=108 block=166912 sm=167936 l2=41943040 fma_gflops=19500 "
    "tensor_gflops=300000 copy_gbps=1500"};

void Compile(build::Nvrtc& nvrtc, const graph::Workload& workload, const target::Target& target,
             const Config& config, bool in_registers) {
  SCOPED_TRACE(config.ToText() + " for " + target.gpu().CudaArch() + "\n" + workload.ToText());
  const auto lowered = LowerConfig(workload, target, config);
  ASSERT_TRUE(lowered.ok()) << lowered.status().ToString();
  const auto source = codegen::PrintCuda(lowered->kernel, target);
  ASSERT_TRUE(source.ok()) << source.status().ToString();
  const auto binary = nvrtc.Compile(source->text, target.gpu().CudaArch());
  ASSERT_TRUE(binary.ok()) << binary.status().ToString();
  EXPECT_EQ(binary->resources.size(), source->launches.size());
  if (!in_registers) return;
  for (const build::CudaResources& function : binary->resources) {
    EXPECT_LE(function.stack_bytes, 16) << function.function;
  }
}

TEST(CudaCompile, EveryFamily) {
  const auto nvrtc = build::Nvrtc::Open(MLC_SOURCE_DIR "/build/cuda");
  if (!nvrtc.ok()) GTEST_SKIP() << nvrtc.status().message();
  Rng rng(3);
  for (const Case& c : kCases) {
    const auto workload =
        graph::Workload::Parse(std::string("workload v1 tolerance=1e-4 {\n") + c.body + "}\n");
    ASSERT_TRUE(workload.ok()) << workload.status().ToString() << "\n" << c.body;
    const Family* family = FindFamily(c.family);
    ASSERT_NE(family, nullptr) << c.family;
    for (const char* text : kTargets) {
      const auto target = target::Target::Parse(text);
      ASSERT_TRUE(target.ok()) << target.status().ToString();
      ASSERT_TRUE(family->Accepts(*workload, *target)) << workload->ToText();
      Compile(**nvrtc, *workload, *target, family->Default(*workload, *target), true);
      const Space space = family->MakeSpace(*workload, *target);
      for (int i = 0; i < 50; ++i) {
        const auto points = static_cast<uint64_t>(space.NumPoints());
        const Config config = space.At(static_cast<int64_t>(rng.Below(points)));
        if (family->Check(*workload, *target, config) != RejectReason::kNone) continue;
        Compile(**nvrtc, *workload, *target, config, false);
        break;
      }
      if (HasFailure()) return;
    }
  }
}

// Warpgroup products that the assembler must carry out one after the other lose their purpose.
void ExpectOverlap(build::Nvrtc& nvrtc, const char* family_name, const char* body, Rng& rng) {
  const auto target = target::Target::Parse(kTargets[0]);
  ASSERT_TRUE(target.ok() && target->gpu().HasWarpgroupMma());
  const Family& family = *FindFamily(family_name);
  const auto workload =
      graph::Workload::Parse(std::string("workload v1 tolerance=1e-2 {\n") + body + "}\n");
  ASSERT_TRUE(workload.ok()) << workload.status().ToString();
  ASSERT_TRUE(family.Accepts(*workload, *target));
  const Space space = family.MakeSpace(*workload, *target);
  Config config = family.Default(*workload, *target);
  for (int compiled = 0; compiled < 12;) {
    if (family.Check(*workload, *target, config) == RejectReason::kNone) {
      ++compiled;
      SCOPED_TRACE(config.ToText());
      const auto lowered = LowerConfig(*workload, *target, config);
      ASSERT_TRUE(lowered.ok()) << lowered.status().ToString();
      const auto source = codegen::PrintCuda(lowered->kernel, *target);
      ASSERT_TRUE(source.ok()) << source.status().ToString();
      const auto binary = nvrtc.Compile(source->text, target->gpu().CudaArch());
      ASSERT_TRUE(binary.ok()) << binary.status().ToString() << source->text;
      EXPECT_TRUE(binary->performance_warnings.empty()) << binary->log;
      for (const build::CudaResources& r : binary->resources) {
        EXPECT_EQ(r.spill_store_bytes, 0) << binary->log;
      }
    }
    const auto points = static_cast<uint64_t>(space.NumPoints());
    config = space.At(static_cast<int64_t>(rng.Below(points)));
  }
}

constexpr const char* kHalfProduct =
    "%0 = input() : f16[4096,4096]\n%1 = weight() : f16[4096,4096]\n"
    "%2 = matmul(%0, %1) : f16[4096,4096]\nreturn %2\n";
constexpr const char* kInputProduct =
    "%0 = input() : bf16[512,1024]\n%1 = input() : bf16[1024,2048]{1,1024}\n"
    "%2 = matmul(%0, %1) : bf16[512,2048]\nreturn %2\n";

TEST(CudaCompile, WarpgroupProductsOverlap) {
  const auto nvrtc = build::Nvrtc::Open(MLC_SOURCE_DIR "/build/cuda");
  if (!nvrtc.ok()) GTEST_SKIP() << nvrtc.status().message();
  const char* const bodies[] = {
      kHalfProduct, kInputProduct,
      "%0 = input() : f16[32,128,28,28]{100352,1,3584,128}\n%1 = weight() : f16[128,128,3,3]\n"
      "%2 = conv(%0, %1) {dilations=[1,1],group=1,pads=[1,1,1,1],strides=[1,1]} : "
      "f16[32,128,28,28]{100352,1,3584,128}\nreturn %2\n",
      "%0 = input() : f32[2048,2048]\n%1 = weight() : f32[2048,2048]\n"
      "%2 = matmul(%0, %1) : f32[2048,2048]\nreturn %2\n",
      "%0 = input() : f32[32,128,28,28]{100352,1,3584,128}\n%1 = weight() : f32[128,128,3,3]\n"
      "%2 = conv(%0, %1) {dilations=[1,1],group=1,pads=[1,1,1,1],strides=[1,1]} : "
      "f32[32,128,28,28]{100352,1,3584,128}\nreturn %2\n"};
  Rng rng(4);
  for (const char* body : bodies) ExpectOverlap(**nvrtc, "warpgroup_contraction", body, rng);
}

TEST(CudaCompile, ProductsOfRolesOverlap) {
  const auto nvrtc = build::Nvrtc::Open(MLC_SOURCE_DIR "/build/cuda");
  if (!nvrtc.ok()) GTEST_SKIP() << nvrtc.status().message();
  const char* const bodies[] = {
      kHalfProduct,
      kInputProduct,
      "%0 = input() : f32[2048,2048]\n%1 = weight() : f32[2048,2048]\n"
      "%2 = matmul(%0, %1) {precision=tf32} : f32[2048,2048]\nreturn %2\n",
      "%0 = input() : f16[4096,768]\n%1 = weight() : f16[768,3072]\n"
      "%2 = matmul(%0, %1) : f16[4096,3072]\n%3 = weight() : f16[3072]\n"
      "%4 = add(%2, %3) : f16[4096,3072]\n%5 = tanh(%4) : f16[4096,3072]\nreturn %5\n",
      "%0 = input() : f16[4096,768]\n%1 = weight() : f16[768,3072]\n"
      "%2 = matmul(%0, %1) : f16[4096,3072]\n%3 = input() : f16[4096,3072]\n"
      "%4 = sigmoid(%3) : f16[4096,3072]\n%5 = mul(%4, %3) : f16[4096,3072]\n"
      "%6 = mul(%2, %5) : f16[4096,3072]\nreturn %6\n",
      "%0 = input() : f16[32,64,56,56]{200704,1,3584,64}\n%1 = weight() : f16[64,64,3,3]\n"
      "%2 = conv(%0, %1) {dilations=[1,1],group=1,pads=[1,1,1,1],strides=[1,1]} : "
      "f16[32,64,56,56]{200704,1,3584,64}\nreturn %2\n",
      "%0 = input() : f16[128,4096]\n%1 = weight() : f16[4096,768]\n"
      "%2 = matmul(%0, %1) : f16[128,768]\nreturn %2\n",
      "%0 = input() : f8e4m3fn[4096,7168]\n%1 = weight() : f8e4m3fn[7168,2048]\n"
      "%2 = matmul(%0, %1) : f32[4096,2048]\n%3 = weight() : f32[2048]\n"
      "%4 = mul(%2, %3) : f32[4096,2048]\n%5 = cast(%4) : bf16[4096,2048]\nreturn %5\n",
      "%0 = input() : f8e5m2[1024,1024]\n%1 = weight() : f8e4m3fn[1024,1024]\n"
      "%2 = matmul(%0, %1) : f32[1024,1024]\n%3 = constant() {value=0.01} : f32[]\n"
      "%4 = mul(%2, %3) : f32[1024,1024]\n%5 = cast(%4) : f16[1024,1024]\n"
      "%6 = input() : f16[1024,1024]\n%7 = add(%5, %6) : f16[1024,1024]\nreturn %7\n"};
  Rng rng(5);
  for (const char* body : bodies) ExpectOverlap(**nvrtc, "role_contraction", body, rng);
}

TEST(CudaCompile, AttentionOfRolesOverlaps) {
  const auto nvrtc = build::Nvrtc::Open(MLC_SOURCE_DIR "/build/cuda");
  if (!nvrtc.ok()) GTEST_SKIP() << nvrtc.status().message();
  const char* const bodies[] = {
      "%0 = input() : f16[1,16,2048,128]\n%1 = input() : f16[1,16,2048,128]\n"
      "%2 = input() : f16[1,16,2048,128]\n"
      "%3 = attention(%0, %1, %2) {scale=0.0883} : f16[1,16,2048,128]\nreturn %3\n",
      "%0 = input() : bf16[4,12,1000,64]\n%1 = input() : bf16[4,12,1000,64]\n"
      "%2 = input() : bf16[4,12,1000,64]\n%3 = constant() {value=-inf} : bf16[1000,1000]\n"
      "%4 = trilu(%3) {k=1,upper=1} : bf16[1000,1000]\n"
      "%5 = attention(%0, %1, %2, %4) {scale=0.125} : bf16[4,12,1000,64]\nreturn %5\n"};
  Rng rng(6);
  for (const char* body : bodies) ExpectOverlap(**nvrtc, "role_attention", body, rng);
}

}  // namespace
}  // namespace mlc::schedule
