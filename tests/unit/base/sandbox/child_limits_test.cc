#include "base/sandbox/child_limits.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace mlc::build {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr Machine kSmall = {.cpus = 2, .stack_bytes = 8 * kMiB};

TEST(ChildLimits, CpuTimeIsThatOfAllThreads) {
  EXPECT_EQ(CpuSeconds({.threads = 1, .ms = 30'000}), 31);
  EXPECT_EQ(CpuSeconds({.threads = 32, .ms = 30'000}), 32 * 30 + 1);
  EXPECT_EQ(CpuSeconds({.threads = 256, .ms = 30'000}), 256 * 30 + 1);
  EXPECT_EQ(CpuSeconds({.threads = 2, .ms = 1}), 3) << "whole seconds";
  EXPECT_EQ(CpuSeconds({.threads = 1, .ms = 0}), 1) << "never none, which would mean no limit";
  EXPECT_EQ(CpuSeconds({.threads = 1, .processes = 9, .ms = 30'000}), 31) << "each has its own";
}

TEST(ChildLimits, EachFurtherThreadHasAStackAndAHeap) {
  const int64_t one = MemoryBytes({.threads = 1, .memory_bytes = kMiB}, kSmall);
  EXPECT_EQ(one, kMiB);
  for (const int threads : {2, 64, 128, 256}) {
    const int64_t all = MemoryBytes({.threads = threads, .memory_bytes = kMiB}, kSmall);
    EXPECT_GE(all - one, (threads - 1) * (8 + 64) * kMiB) << threads;
  }
  const Machine deep = {.cpus = 2, .stack_bytes = 1024 * kMiB};
  EXPECT_GE(MemoryBytes({.threads = 9, .memory_bytes = kMiB}, deep), 8 * 1024 * kMiB);
  EXPECT_EQ(MemoryBytes({.threads = 256, .memory_bytes = 0}, kSmall), 0) << "no limit";
}

TEST(ChildLimits, DeadlinesGrowWhereThreadsTakeTurns) {
  EXPECT_EQ(WallMs({.threads = 1, .ms = 10'000}, kSmall), 10'000);
  EXPECT_EQ(WallMs({.threads = 2, .ms = 10'000}, kSmall), 10'000);
  EXPECT_EQ(WallMs({.threads = 3, .ms = 10'000}, kSmall), 20'000);
  EXPECT_EQ(WallMs({.threads = 256, .ms = 10'000}, kSmall), 1'280'000);
  EXPECT_EQ(WallMs({.threads = 256, .ms = 10'000}, {.cpus = 256}), 10'000);
  EXPECT_EQ(WallMs({.threads = 1, .processes = 8, .ms = 10'000}, kSmall), 40'000);
}

TEST(ChildLimits, LargeTensorsHaveTheirTime) {
  const ChildWork work{.ms = 10'000, .tensor_bytes = int64_t{3} << 30};
  EXPECT_GT(WallMs(work, kSmall), 10'000 + 3 * 10'000);
  EXPECT_GT(CpuSeconds(work), 10 + 3 * 10);
}

TEST(ChildLimits, NothingOverflows) {
  const ChildWork most{.threads = 4096,
                       .processes = 4096,
                       .ms = int64_t{365} * 24 * 3'600'000,
                       .tensor_bytes = int64_t{1} << 45,
                       .memory_bytes = int64_t{1} << 45};
  const Machine machine = {.cpus = 1, .stack_bytes = int64_t{1} << 40};
  EXPECT_GT(CpuSeconds(most), int64_t{4096} * 365 * 24 * 3600);
  EXPECT_GT(MemoryBytes(most, machine), int64_t{1} << 51);
  EXPECT_GT(WallMs(most, machine), most.ms);
}

TEST(ChildLimits, AnUnlimitedStackIsWhatTheCLibraryMakesOfIt) {
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_STACK, &before), 0);
  rlimit stack = before;
  stack.rlim_cur = static_cast<rlim_t>(3 * kMiB);
  ASSERT_EQ(setrlimit(RLIMIT_STACK, &stack), 0);
  EXPECT_EQ(ThisMachine().stack_bytes, 3 * kMiB);
  EXPECT_GE(ThisMachine().cpus, 1);
  if (before.rlim_max == RLIM_INFINITY) {
    stack.rlim_cur = RLIM_INFINITY;
    ASSERT_EQ(setrlimit(RLIMIT_STACK, &stack), 0);
    EXPECT_EQ(ThisMachine().stack_bytes, 2 * kMiB);
  }
  ASSERT_EQ(setrlimit(RLIMIT_STACK, &before), 0);
}

TEST(ChildLimits, AreTakenOverTogether) {
  const ChildWork work{.threads = 64, .ms = 5'000, .memory_bytes = kMiB};
  const Limits limits = LimitsFor(work, kSmall);
  EXPECT_EQ(limits.cpu_seconds, CpuSeconds(work));
  EXPECT_EQ(limits.memory_bytes, MemoryBytes(work, kSmall));
  EXPECT_TRUE(limits.sandbox);
}

}  // namespace
}  // namespace mlc::build
