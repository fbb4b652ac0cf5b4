#include "server/fleet/abilities.h"

#include <gtest/gtest.h>

namespace mlc::server::fleet {
namespace {

constexpr const char* kCpu = "target v1 cpu arch=x86_64 isa=avx512 threads=8";
constexpr const char* kGpu = "target v1 cuda arch=sm_90a sms=132";
constexpr int64_t kMib = 1 << 20;

Needs Trials(const std::string& kernel, int64_t memory_bytes = 0) {
  return {kGpu, kernel, memory_bytes, false};
}
const Needs kUserKernel = {kGpu, "user_kernel/1", 0, true};

TEST(AbilitiesTest, WhatIsDeclaredHoldsUntilAWorkerTells) {
  Abilities plain({.classes = {"target v1 cuda *"}});
  EXPECT_TRUE(plain.Meet(Trials("contraction/3", 1000 * kMib)));
  EXPECT_FALSE(plain.Meet({.target_class = kCpu}));
  EXPECT_FALSE(plain.Meet(kUserKernel));
  Abilities allowing(
      {.classes = {"target v1 cuda *"}, .memory_bytes = 16 * kMib, .user_kernels = true});
  EXPECT_TRUE(allowing.Meet(Trials("contraction/3", 16 * kMib)));
  EXPECT_FALSE(allowing.Meet(Trials("contraction/3", 17 * kMib)));
  EXPECT_TRUE(allowing.Meet(kUserKernel));
}

TEST(AbilitiesTest, WhatAWorkerTellsOutweighsWhatIsDeclared) {
  Abilities abilities({.classes = {"*"}, .memory_bytes = kMib});
  abilities.Learn({kGpu, {"contraction/3"}, 8 * kMib}, true);
  EXPECT_TRUE(abilities.Meet(Trials("contraction/3", 8 * kMib)));
  EXPECT_FALSE(abilities.Meet(Trials("contraction/3", 9 * kMib)));
  EXPECT_FALSE(abilities.Meet(Trials("contraction/4")));
  EXPECT_FALSE(abilities.Meet({.target_class = kCpu}));
  EXPECT_FALSE(abilities.Meet(kUserKernel));
}

TEST(AbilitiesTest, OneOfItsWorkersIsEnough) {
  Abilities abilities({.classes = {"*"}});
  abilities.Learn({kGpu, {"contraction/3"}, 8 * kMib}, true);
  abilities.Learn({kGpu, {"contraction/3"}, 32 * kMib}, true);
  abilities.Learn({kGpu, {"contraction/3"}, 16 * kMib}, true);
  abilities.Learn({kGpu, {"user_kernel/1"}, 0}, true);
  EXPECT_TRUE(abilities.Meet(Trials("contraction/3", 32 * kMib)));
  EXPECT_FALSE(abilities.Meet(Trials("contraction/3", 33 * kMib)));
  EXPECT_TRUE(abilities.Meet(kUserKernel));
}

TEST(AbilitiesTest, AnEarlierServersWorkersMayBeOfAnOlderMake) {
  Abilities abilities({.classes = {"*"}, .memory_bytes = 8 * kMib});
  abilities.Learn({kGpu, {"contraction/2"}, 8 * kMib}, false);
  EXPECT_TRUE(abilities.Meet(Trials("contraction/3", 8 * kMib)));
  EXPECT_FALSE(abilities.Meet(Trials("contraction/3", 9 * kMib)));
  EXPECT_FALSE(abilities.Meet({.target_class = kCpu}));
  // The first of this server's own settles it.
  abilities.Learn({kGpu, {"contraction/2"}, 8 * kMib}, true);
  EXPECT_FALSE(abilities.Meet(Trials("contraction/3")));
  EXPECT_TRUE(abilities.Meet(Trials("contraction/2")));
}

TEST(MatchesTest, StarsStandForAnyText) {
  EXPECT_TRUE(Matches("target v1 cpu *", kCpu));
  EXPECT_TRUE(Matches("*isa=avx512*threads=8", kCpu));
  EXPECT_TRUE(Matches("*", ""));
  EXPECT_TRUE(Matches("a*b*c", "axxbyybzc"));
  EXPECT_FALSE(Matches("target v1 cpu *", kGpu));
  EXPECT_FALSE(Matches("a*b", "axc"));
  EXPECT_FALSE(Matches("", "x"));
}

}  // namespace
}  // namespace mlc::server::fleet
