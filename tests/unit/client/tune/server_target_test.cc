#include "client/service/server_target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mlc::client {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kTwo[] =
    "target v1 cpu arch=x86_64 isa=avx512 threads=2 l1=49152 l2=2097152 l3=33554432";
constexpr char kEight[] =
    "target v1 cpu arch=x86_64 isa=avx2 threads=8 l1=32768 l2=524288 l3=33554432";
constexpr char kGpu[] = "target v1 cuda arch=sm_90a sms=132 block=232448 sm=233472 l2=62914560";

Result<target::Target> Of(const char* text) { return target::Target::Parse(text); }
std::string Choose(const std::vector<std::string>& texts, const char* word, int threads,
                   const Result<target::Target>& here) {
  const Result<target::Target> chosen = ClassAmong(texts, word, threads, here);
  return chosen.ok() ? chosen->ToText() : chosen.status().ToString();
}

TEST(ServerTargetTest, TheOneClassOfTheDeviceIsTaken) {
  const std::string calibrated = std::string(kEight) + " fma_gflops=500.0 copy_gbps=40.0";
  EXPECT_EQ(Choose({kGpu, calibrated, kEight}, "cpu", 0, Of(kTwo)), Of(kEight)->ToText())
      << "calibrated figures are not of the class";
  EXPECT_EQ(Choose({kGpu, kEight}, "cuda", 0, Unavailable("no driver")), Of(kGpu)->ToText());
}

TEST(ServerTargetTest, ThisMachineIsTakenWhereTheServerKnowsItOrNothing) {
  EXPECT_EQ(Choose({kEight, kTwo}, "cpu", 0, Of(kTwo)), Of(kTwo)->ToText());
  EXPECT_EQ(Choose({kGpu, "target v9 tpu"}, "cpu", 0, Of(kTwo)), Of(kTwo)->ToText());
  EXPECT_THAT(Choose({kTwo}, "cuda", 0, Unavailable("no driver")), HasSubstr("no driver"));
}

TEST(ServerTargetTest, ThreadsNarrowTheChoice) {
  EXPECT_EQ(Choose({kEight, kTwo}, "cpu", 8, Unavailable("x")), Of(kEight)->ToText());
  EXPECT_EQ(Choose({kEight}, "cpu", 2, Of(kTwo)), Of(kTwo)->ToText());
}

TEST(ServerTargetTest, SeveralClassesAreListed) {
  const Result<target::Target> chosen =
      ClassAmong({kEight, kTwo}, "cpu", 0, Unavailable("unknown"));
  ASSERT_FALSE(chosen.ok());
  EXPECT_EQ(chosen.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(chosen.status().message(), AllOf(HasSubstr(kTwo), HasSubstr(kEight)));
}

}  // namespace
}  // namespace mlc::client
