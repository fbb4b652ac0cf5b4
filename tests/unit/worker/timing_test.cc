#include "worker/timing.h"

#include <gtest/gtest.h>

namespace mlc::worker {
namespace {

// A machine whose clock moves only when the kernel runs.
struct Fake {
  int64_t now = 0;
  int64_t switches = 0;
  int64_t runs = 0;
  int evictions = 0;
  std::function<int64_t(int64_t)> cost;  // of the run with this number

  Stopwatch watch() {
    return {[this] { return now; }, [this] { return switches; }};
  }
  Timing Time(const TimingOptions& options) {
    return TimeKernel([this] { now += cost(runs++); }, [this] { ++evictions; }, options, watch());
  }
};

TEST(Timing, QuantilesOfEqualSamplesAreThatSample) {
  for (int time = 20'000; time < 21'000; ++time) {
    const double sample = time / 7.0;
    const std::vector<double> equal(15, sample);
    EXPECT_EQ(Quantile(equal, 0.1), sample);
    EXPECT_EQ(Quantile(equal, 0.9), sample);
  }
}

TEST(Timing, MedianOfASteadyKernel) {
  Fake fake{.cost = [](int64_t) { return 100'000; }};
  const Timing timing = fake.Time({});
  EXPECT_FALSE(timing.raced_out);
  EXPECT_DOUBLE_EQ(timing.median_ns, 100'000);
  EXPECT_DOUBLE_EQ(timing.p10_ns, timing.p90_ns);
  EXPECT_EQ(timing.samples, 30);
  EXPECT_EQ(fake.evictions, 3);
  EXPECT_DOUBLE_EQ(timing.cold_ns, 100'000);
}

TEST(Timing, ShortKernelsAreRepeatedWithinASample) {
  Fake fake{.cost = [](int64_t) { return 100; }};
  const Timing timing = fake.Time({});
  EXPECT_DOUBLE_EQ(timing.median_ns, 100);
  EXPECT_GE(fake.runs, 30 * 200);
}

TEST(Timing, LosersStopEarly) {
  Fake fake{.cost = [](int64_t) { return 2'000'000; }};
  const Timing timing = fake.Time({.race_ns = 1e6});
  EXPECT_TRUE(timing.raced_out);
  EXPECT_EQ(fake.runs, 3);
  EXPECT_DOUBLE_EQ(timing.median_ns, 2'000'000);
  EXPECT_EQ(fake.evictions, 0);
}

TEST(Timing, OneSlowStartLosesNoRace) {
  Fake fake{.cost = [](int64_t run) { return run == 0 ? 9'000'000 : 1'000'000; }};
  EXPECT_FALSE(fake.Time({.race_ns = 1e6}).raced_out);
}

TEST(Timing, InterruptedSamplesAreDropped) {
  Fake fake;
  fake.cost = [&fake](int64_t run) {
    if (run % 3 != 0) return 100'000;
    ++fake.switches;
    return 5'000'000;
  };
  const Timing timing = fake.Time({});
  EXPECT_DOUBLE_EQ(timing.p90_ns, 100'000);
}

TEST(Timing, ABusyMachineStillGivesANumber) {
  Fake fake;
  fake.cost = [&fake](int64_t) {
    ++fake.switches;
    return 100'000;
  };
  EXPECT_DOUBLE_EQ(fake.Time({}).median_ns, 100'000);
}

TEST(Timing, VerySlowKernelsRunAFewTimesOnly) {
  Fake fake{.cost = [](int64_t) { return 1'000'000'000; }};
  EXPECT_EQ(fake.Time({}).samples, 3);
  EXPECT_LE(fake.runs, 9);
}

}  // namespace
}  // namespace mlc::worker
