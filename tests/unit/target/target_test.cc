#include "compiler/target/target.h"

#include <gtest/gtest.h>

#include <string>

namespace mlc::target {
namespace {

Target Avx512() {
  Target target;
  target.cpu().isa = Isa::kAvx512;
  target.cpu().threads = 2;
  target.cpu().l1_bytes = 49152;
  target.cpu().l2_bytes = 2097152;
  target.cpu().l3_bytes = 272629760;
  target.fma_gflops = 357;
  target.copy_gbps = 26.6;
  return target;
}

TEST(Target, TextReadsBack) {
  const Target target = Avx512();
  EXPECT_EQ(target.ToText(),
            "target v1 cpu arch=x86_64 isa=avx512 threads=2 l1=49152 l2=2097152 l3=272629760 "
            "fma_gflops=357.0 copy_gbps=26.6");
  const Result<Target> read = Target::Parse(target.ToText());
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(*read, target);
}

TEST(Target, ClassLeavesOutCalibratedFiguresOnly) {
  Target target = Avx512();
  const std::string text = target.ClassText();
  EXPECT_EQ(text,
            "target v1 cpu arch=x86_64 isa=avx512 threads=2 l1=49152 l2=2097152 l3=272629760");
  target.fma_gflops = 1;
  target.copy_gbps = 2;
  EXPECT_EQ(target.ClassText(), text);
  target.cpu().l3_bytes = 1;
  EXPECT_NE(target.ClassText(), text);
  const Result<Target> read = Target::Parse(text);
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(read->fma_gflops, 0);
  EXPECT_EQ(read->ClassText(), text);
}

TEST(Target, NewerDevicesHaveNothingOfOneArchitectureAndMayHaveLessSharedMemory) {
  const Target target =
      *Target::Parse("target v1 cuda arch=sm_90a sms=132 block=232448 sm=233472 l2=62914560");
  const auto [any, large] = NewerDevices(target);
  EXPECT_EQ(any.ClassText(),
            "target v1 cuda arch=sm_90 sms=132 block=101376 sm=102400 l2=62914560");
  EXPECT_EQ(large.ClassText(),
            "target v1 cuda arch=sm_90 sms=132 block=232448 sm=233472 l2=62914560");
  EXPECT_EQ(NewerDevices(any)[0], any);
}

TEST(Target, HasTheFactsOfItsKindOnly) {
  const Target cpu = Avx512();
  EXPECT_EQ(cpu.As<CpuTarget>(), &cpu.cpu());
  EXPECT_EQ(cpu.As<GpuTarget>(), nullptr);
  EXPECT_DEATH(cpu.gpu(), "the facts of a GPU are asked of target v1 cpu arch=x86_64");
  const Target gpu = *Target::Parse("target v1 cuda arch=sm_80 sms=108 block=1 sm=2 l2=3");
  EXPECT_EQ(gpu.gpu().sms, 108);
  EXPECT_EQ(gpu.As<CpuTarget>(), nullptr);
  EXPECT_DEATH(gpu.cpu(), "the facts of a CPU are asked of target v1 cuda arch=sm_80");
}

TEST(Target, WithoutPeaksIsTheClass) {
  EXPECT_EQ(Avx512().WithoutPeaks(), *Target::Parse(Avx512().ClassText()));
  const std::string gpu = "target v1 cuda arch=sm_80 sms=108 block=1 sm=2 l2=3";
  const std::string peaks = " fma_gflops=1 tensor_gflops=2 copy_gbps=3";
  EXPECT_EQ(Target::Parse(gpu + peaks)->WithoutPeaks(), *Target::Parse(gpu));
}

TEST(Target, VectorsFollowTheIsa) {
  const auto with = [](Isa isa) {
    Target target;
    target.cpu().isa = isa;
    return target;
  };
  EXPECT_EQ(with(Isa::kPlain).cpu().Lanes(DType::kF32), 4);
  EXPECT_EQ(with(Isa::kAvx2).cpu().Lanes(DType::kF64), 4);
  EXPECT_EQ(with(Isa::kAvx512).cpu().Lanes(DType::kF32), 16);
  EXPECT_EQ(with(Isa::kAvx512).cpu().Lanes(DType::kBF16), 32);
  EXPECT_EQ(with(Isa::kNeon).cpu().Lanes(DType::kI8), 16);
  EXPECT_EQ(with(Isa::kAvx512Vnni).cpu().Lanes(DType::kF32), 16);
  EXPECT_EQ(with(Isa::kAvx512).cpu().vector_registers(), 32);
  EXPECT_EQ(with(Isa::kAvx2).cpu().vector_registers(), 16);
  EXPECT_EQ(with(Isa::kNeon).cpu().vector_registers(), 32);
  EXPECT_EQ(with(Isa::kPlain).cpu().vector_registers(), 16);
}

std::string ErrorOf(std::string text, const std::string& from, const std::string& to) {
  text.replace(text.find(from), from.size(), to);
  const Result<Target> target = Target::Parse(text);
  EXPECT_EQ(target.status().code(), StatusCode::kInvalidArgument) << text;
  return target.status().message();
}

TEST(Target, BadTextIsExplained) {
  const std::string text = Avx512().ToText();
  EXPECT_EQ(ErrorOf(text, "v1", "1"),
            "line 1, column 8: expected 'v1', found '1 cpu arch=x86_64 is'");
  EXPECT_EQ(Target::Parse("target v2 tpu").status(),
            FailedPrecondition("line 1, column 8: the text is of version 2, this program reads "
                               "version 1: use a program of the release that wrote it"));
  EXPECT_EQ(
      ErrorOf(text, "x86_64", "vax"),
      "line 1, column 24: unknown arch 'vax': x86_64 or aarch64, found 'isa=avx512 threads=2'");
  EXPECT_EQ(ErrorOf(text, "avx512", "neon"),
            "line 1, column 36: isa neon does not exist on x86_64, found 'threads=2 l1=49152 l'");
  EXPECT_EQ(ErrorOf(text, "threads=2", "threads=0"),
            "line 1, column 48: threads must be 1 to 4096, found 'l1=49152 l2=2097152 '");
  EXPECT_EQ(ErrorOf(text, "26.6", "nan"),
            "line 1, column 111: copy_gbps must be a number from 0, found the end");
  EXPECT_EQ(ErrorOf(text, "26.6", "26.6 more"),
            "line 1, column 113: expected the end of the target, found 'more'");
}

TEST(Target, HostIsDescribed) {
  const Target host = DetectHost(3);
  EXPECT_EQ(host.cpu().threads, 3);
  EXPECT_EQ(host.fma_gflops, 0);
  EXPECT_GE(host.cpu().l1_bytes, 4096);
  EXPECT_GE(host.cpu().l2_bytes, host.cpu().l1_bytes);
  const Result<Target> read = Target::Parse(host.ToText());
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(*read, host);
}

}  // namespace
}  // namespace mlc::target
