// What families generate, as kernel IR, for one small case each; and properties of the LLVM IR that
// make kernels fast.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/codegen/llvm.h"
#include "tests/golden/golden.h"
#include "tests/golden/workloads.h"

namespace mlc::golden {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kHint =
    "A change that means to alter kernels accepts the new text; a refactoring must change none.";

graph::Workload SmallSoftmax() {
  return Parsed("%0 = input() : f32[4,24]\n%1 = softmax(%0) {axis=1} : f32[4,24]\nreturn %1\n");
}

// Without padding: every tap of the kernel is inside the image, so one loop covers all.
graph::Workload SmallConvolution() {
  return Parsed(
      "%0 = input() : f32[1,8,8,8]{512,1,64,8}\n%1 = weight() : f32[32,8,3,3]\n%2 = conv(%0, %1) "
      "{dilations=[1,1], group=1, pads=[0,0,0,0], strides=[1,1]} : f32[1,32,6,6]{1152,1,192,32}\n"
      "return %2\n");
}

graph::Workload SmallAttention() {
  return Parsed(
      "%0 = input() : f32[1,2,8,16]\n%1 = input() : f32[1,2,8,16]\n%2 = input() : "
      "f32[1,2,8,16]\n%3 = attention(%0, %1, %2) {scale=0.25} : f32[1,2,8,16]\nreturn %3\n");
}

graph::Workload SmallLongAttention() {
  return Parsed(
      "%0 = input() : f16[1,1,64,64]\n%1 = input() : f16[1,1,100,64]\n%2 = input() : "
      "f16[1,1,100,64]\n%3 = attention(%0, %1, %2) {scale=0.125} : f16[1,1,64,64]\nreturn %3\n");
}

graph::Workload SmallPool() {
  return Parsed(
      "%0 = input() : f32[1,16,8,8]{1024,1,128,16}\n%1 = pool(%0) {kernel=[3,3], kind=max, "
      "pads=[1,1,1,1], strides=[2,2]} : f32[1,16,4,4]{256,1,64,16}\nreturn %1\n");
}

graph::Workload SmallSigmoid() {
  return Parsed(
      "%0 = input() : f32[100]\n%1 = input() : f32[100]\n%2 = sigmoid(%0) : f32[100]\n"
      "%3 = mul(%1, %2) : f32[100]\nreturn %3\n");
}

graph::Workload SmallProduct(DType dtype, int64_t rows, int64_t depth, int64_t columns) {
  const auto type = [&](int64_t a, int64_t b) {
    return graph::TensorType{dtype, {a, b}, {}}.ToText();
  };
  return Parsed("%0 = input() : " + type(rows, depth) +
                "\n%1 = weight() : " + type(depth, columns) +
                "\n%2 = matmul(%0, %1) : " + type(rows, columns) + "\nreturn %2\n");
}

// Quantised again, as between two layers.
graph::Workload SmallProductOfBytes() {
  return Parsed(
      "%0 = input() : u8[6,16]\n%1 = weight() : i8[16,32]\n%2 = matmul(%0, %1) : i32[6,32]\n"
      "%3 = cast(%2) : f32[6,32]\n%4 = weight() : f32[32]\n%5 = mul(%3, %4) : f32[6,32]\n"
      "%6 = round(%5) : f32[6,32]\n%7 = cast(%6) : u8[6,32]\nreturn %7\n");
}

graph::Workload SmallProductOfFewBits() {
  return Parsed(
      "%0 = input() : f32[2,64]\n%1 = weight() : u8[32,32]\n%2 = weight() : f32[32,2]\n"
      "%3 = dequantize(%1, %2) {bits=4, block=32, depth=64, zero=8} : f32[64,32]\n"
      "%4 = matmul(%0, %3) : f32[2,32]\nreturn %4\n");
}

graph::Workload SmallNarrowProductOfFewBits() {
  return Parsed(
      "%0 = input() : bf16[2,128]\n%1 = weight() : u8[32,64]\n%2 = weight() : bf16[32,4]\n"
      "%3 = dequantize(%1, %2) {bits=4, block=32, depth=128, zero=8} : bf16[128,32]\n"
      "%4 = matmul(%0, %3) : bf16[2,32]\nreturn %4\n");
}

graph::Workload SmallImage() {
  return Parsed(
      "%0 = input() : f32[1,3,8,8]\n%1 = weight() : f16[32,3,2,2]\n%2 = cast(%0) : f16[1,3,8,8]\n"
      "%3 = conv(%2, %1) {dilations=[1,1], group=1, pads=[0,0,0,0], strides=[2,2]} : "
      "f16[1,32,4,4]{512,1,128,32}\nreturn %3\n");
}

struct FamilyCase {
  std::string family;
  graph::Workload workload;
  target::Target target;
};

// One small case of each family, whose text is short enough to be read in a change.
std::vector<FamilyCase> FamilyCases() {
  return {{"contraction", SmallConvolution(), Avx512()},
          {"winograd", Convolution(16, 12, 16, 3, 1), Avx512()},
          {"depthwise", Convolution(16, 8, 16, 3, 1, 16), Avx512()},
          {"fixed_point", SmallProductOfFewBits(), Avx512Vnni()},
          {"row_reduce", SmallSoftmax(), Avx512()},
          {"attention", SmallAttention(), Avx512()},
          {"window", SmallPool(), Avx512()},
          {"pointwise", SmallSigmoid(), Avx512()},
          {"gpu_attention", SmallAttention(), Hopper()},
          {"gpu_depthwise", Convolution(16, 8, 16, 3, 1, 16), Hopper()},
          {"gpu_pool", SmallPool(), Hopper()},
          {"gpu_pointwise", SmallSigmoid(), Hopper()},
          {"gpu_row_reduce", SmallSoftmax(), Hopper()},
          {"few_bits_contraction", SmallNarrowProductOfFewBits(), Hopper()},
          {"simt_contraction", SmallProduct(DType::kF32, 16, 16, 32), Hopper()},
          {"skinny_contraction", SmallProduct(DType::kF32, 1, 64, 64), Hopper()},
          {"tensor_contraction", SmallProduct(DType::kF16, 16, 32, 32), Hopper()},
          {"warpgroup_contraction", SmallProduct(DType::kF16, 64, 64, 64), Hopper()},
          {"role_contraction", SmallProduct(DType::kF16, 64, 128, 64), Hopper()},
          {"role_attention", SmallLongAttention(), Hopper()},
          {"image_convolution", SmallImage(), Hopper()}};
}

void CheckKernel(const FamilyCase& subject) {
  const schedule::LoweredKernel lowered =
      LoweredBy(subject.family, subject.workload, subject.target);
  std::string text = "# " + subject.workload.Summary() + "\n";
  for (const schedule::Preparation& preparation : lowered.preparations) {
    text += preparation.kernel.ToText();
  }
  Check("tests/golden/kernels/" + subject.family + ".txt", text + lowered.kernel.ToText(), kHint);
}

TEST(KernelText, OfEachFamilyIsTheOneOnRecord) {
  for (const FamilyCase& subject : FamilyCases()) {
    SCOPED_TRACE(subject.family);
    CheckKernel(subject);
  }
}

TEST(KernelText, CoversEveryFamily) {
  const std::vector<FamilyCase> cases = FamilyCases();
  for (const schedule::Family* family : schedule::Families()) {
    EXPECT_THAT(cases, testing::Contains(testing::Field(&FamilyCase::family, family->name())));
  }
}

std::string LlvmOf(std::string_view family, const graph::Workload& workload,
                   const target::Target& target) {
  const Result<std::string> text =
      codegen::PrintLlvm(LoweredBy(family, workload, target).kernel, target);
  EXPECT_TRUE(text.ok()) << text.status().message();
  return text.ok() ? *text : "";
}

// Names of the functions that the module calls, without LLVM's own operations.
std::vector<std::string> Callees(const std::string& llvm) {
  std::vector<std::string> names;
  for (size_t at = 0; (at = llvm.find("call ", at)) != std::string::npos; ++at) {
    const size_t name = llvm.find('@', at), end = llvm.find('(', name);
    const std::string callee = llvm.substr(name + 1, end - name - 1);
    if (callee.rfind("llvm.", 0) != 0) names.push_back(callee);
  }
  return names;
}

TEST(LlvmText, ContractionMultipliesInVectorsOfTheTarget) {
  const graph::Workload workload = Convolution(64, 14, 64, 3, 1);
  EXPECT_THAT(LlvmOf("contraction", workload, Avx512()), HasSubstr("@llvm.fma.v16f32"));
  const std::string avx2 = LlvmOf("contraction", workload, Avx2());
  EXPECT_THAT(avx2, HasSubstr("@llvm.fma.v8f32"));
  EXPECT_THAT(avx2, Not(HasSubstr("<16 x float>")));
}

TEST(LlvmText, ProductsOfBytesTakeTheDotProductsOfTheTarget) {
  const graph::Workload workload = SmallProductOfBytes();
  EXPECT_THAT(LlvmOf("contraction", workload, Avx512Vnni()), HasSubstr("vpdpbusd.512"));
  EXPECT_THAT(LlvmOf("contraction", workload, Avx512()), HasSubstr("pmaddw.d.512"));
  EXPECT_THAT(LlvmOf("contraction", workload, Avx2()), HasSubstr("avx2.pmadd.wd"));
}

// Of a product with another tensor added to it, as the kernel's text.
std::string TextWithResidual(int64_t rows, int64_t depth) {
  const std::string k = std::to_string(depth);
  const std::string y = "f32[" + std::to_string(rows) + ",1024]";
  return LoweredBy("contraction",
                   Parsed("%0 = input() : f32[" + std::to_string(rows) + "," + k +
                          "]\n%1 = weight() : f32[" + k + ",1024]\n%2 = matmul(%0, %1) : " + y +
                          "\n%3 = input() : " + y + "\n%4 = add(%2, %3) : " + y + "\nreturn %4\n"),
                   Avx512())
      .kernel.ToText();
}

TEST(KernelText, ContractionFetchesWhatItsEpilogueReads) {
  // The first operand of the product has the shape of its result, too.
  const std::string text = TextWithResidual(2048, 1024);
  EXPECT_THAT(text, HasSubstr("prefetch x_1["));
  EXPECT_LT(text.find("prefetch x_1["), text.find("fma"));
  EXPECT_THAT(text, Not(HasSubstr("prefetch x[")));
  // What lies in the second-level caches, and sums too short to wait for anything.
  EXPECT_THAT(TextWithResidual(512, 1024), Not(HasSubstr("prefetch x_1[")));
  EXPECT_THAT(TextWithResidual(2048, 16), Not(HasSubstr("prefetch x_1[")));
}

TEST(LlvmText, KernelsCallNothing) {
  for (const NamedWorkload& named : AllKinds()) {
    const schedule::Family* family = schedule::FamiliesFor(named.workload, Avx512()).front();
    EXPECT_THAT(Callees(LlvmOf(family->name(), named.workload, Avx512())), testing::IsEmpty())
        << named.name;
  }
}

TEST(LlvmText, RegistersAreValues) {
  for (const NamedWorkload& named : AllKinds()) {
    const schedule::Family* family = schedule::FamiliesFor(named.workload, Avx512()).front();
    EXPECT_THAT(LlvmOf(family->name(), named.workload, Avx512()), Not(HasSubstr("alloca <")))
        << named.name;
  }
}

}  // namespace
}  // namespace mlc::golden
