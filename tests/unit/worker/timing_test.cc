#include "worker/measure/timing.h"

#include <gtest/gtest.h>

#include "base/quantile.h"

namespace mlc::worker {
namespace {

// A machine whose clock moves only when the kernel runs or the timing waits.
struct Fake {
  int64_t now = 0;
  int64_t switches = 0;
  int64_t runs = 0;
  int evictions = 0;
  std::function<int64_t(int64_t)> cost;  // of the run with this number
  std::function<bool(int64_t)> disturbed = [](int64_t) { return false; };  // at this time
  RetryBudget retry_budget = {};

  Stopwatch watch() {
    return {[this] { return now; }, [this] { return switches; }};
  }
  Timing Time(const TimingOptions& options) {
    QuietMachineGate gate(
        {[this] { return disturbed(now) ? 0.5 : 0.98; }, [this](int64_t ns) { now += ns; }},
        retry_budget);
    return TimeKernel([this] { now += cost(runs++); }, [this] { ++evictions; }, options, watch(),
                      gate);
  }
};

// A kernel of 0.1 ms that takes twice as long while the machine is disturbed.
Fake Disturbed(const std::function<bool(int64_t)>& when) {
  Fake fake;
  fake.disturbed = when;
  return fake;
}
Timing TimeDisturbed(Fake& fake, const TimingOptions& options) {
  fake.cost = [&fake](int64_t) { return fake.disturbed(fake.now) ? 200'000 : 100'000; };
  return fake.Time(options);
}

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
  EXPECT_FALSE(timing.stopped_early);
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
  const Timing timing = fake.Time({.early_stop_ns = 1e6});
  EXPECT_TRUE(timing.stopped_early);
  EXPECT_EQ(fake.runs, 3);
  EXPECT_DOUBLE_EQ(timing.median_ns, 2'000'000);
  EXPECT_EQ(fake.evictions, 0);
}

TEST(Timing, OneSlowStartDoesNotStopEarly) {
  Fake fake{.cost = [](int64_t run) { return run == 0 ? 9'000'000 : 1'000'000; }};
  EXPECT_FALSE(fake.Time({.early_stop_ns = 1e6}).stopped_early);
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
  fake.disturbed = [](int64_t) { return true; };
  const Timing timing = fake.Time({});
  EXPECT_DOUBLE_EQ(timing.median_ns, 100'000);
  EXPECT_EQ(timing.machine_speed, 0.5) << "though every sample was interrupted";
}

TEST(Timing, AQuietMachineLosesNoTime) {
  Fake fake = Disturbed([](int64_t) { return false; });
  const Timing timing = TimeDisturbed(fake, {});
  EXPECT_EQ(timing.machine_speed, 0.98);
  EXPECT_EQ(timing.samples, 30);
  EXPECT_EQ(fake.retry_budget.lost_ns, 0);
  EXPECT_EQ(fake.retry_budget.timed_ns, 30 * 100'000);
}

TEST(Timing, DisturbedSlicesAreRepeated) {
  // Most of the time that a timing takes is disturbed.
  Fake fake = Disturbed([](int64_t at) { return at % 10'000'000 > 2'000'000; });
  const Timing timing = TimeDisturbed(fake, {});
  EXPECT_EQ(timing.machine_speed, 0.98);
  EXPECT_DOUBLE_EQ(timing.median_ns, 100'000);
  EXPECT_GE(timing.samples, 30);
  EXPECT_GT(fake.retry_budget.lost_ns, 0);
}

TEST(Timing, AMachineThatIsNeverQuietIsStillTimed) {
  Fake fake = Disturbed([](int64_t) { return true; });
  for (int i = 0; i < 100; ++i) {
    const Timing timing = TimeDisturbed(fake, {});
    EXPECT_EQ(timing.machine_speed, 0.5);
    EXPECT_DOUBLE_EQ(timing.median_ns, 200'000);
  }
  // A slice may be lost beyond the bound.
  EXPECT_LE(fake.retry_budget.lost_ns, 3 * fake.retry_budget.timed_ns + 10'002'000'000);
}

TEST(Timing, OfDisturbedSamplesTheFastestMachineCounts) {
  // Quiet for less than a slice at a time, and the budget is spent.
  Fake fake = Disturbed([](int64_t at) { return at % 10'000'000 > 1'000'000; });
  fake.retry_budget = {.timed_ns = 0, .lost_ns = 20'000'000'000};
  const Timing timing = TimeDisturbed(fake, {});
  EXPECT_EQ(timing.machine_speed, 0.5);
  EXPECT_GE(timing.samples, 7);
}

TEST(Timing, SlowSlicesAreRepeatedWithoutAProbedDisturbance) {
  Fake fake;
  fake.cost = [&fake](int64_t) { return fake.now % 10'000'000 > 4'000'000 ? 140'000 : 100'000; };
  const Timing timing = fake.Time({});
  EXPECT_DOUBLE_EQ(timing.median_ns, 100'000);
  EXPECT_GE(timing.samples, 20);
  EXPECT_EQ(timing.machine_speed, 0.98);
}

TEST(Timing, SamplesThatScatterByThemselvesAreAllTaken) {
  Fake fake{.cost = [](int64_t run) { return 100'000 + run * 17 % 30 * 1000; }};
  const Timing timing = fake.Time({});
  EXPECT_GE(timing.samples, 15);
  EXPECT_NEAR(timing.median_ns, 114'000, 6'000);
}

TEST(Timing, ADisturbanceDoesNotStopEarly) {
  Fake fake = Disturbed([](int64_t at) { return at > 100'000 && at < 20'000'000; });
  const Timing timing = TimeDisturbed(fake, {.early_stop_ns = 100'000});
  EXPECT_FALSE(timing.stopped_early);
  EXPECT_DOUBLE_EQ(timing.median_ns, 100'000);
}

TEST(Timing, VerySlowKernelsRunAFewTimesOnly) {
  Fake fake{.cost = [](int64_t) { return 1'000'000'000; }};
  EXPECT_EQ(fake.Time({}).samples, 3);
  EXPECT_LE(fake.runs, 9);
}

}  // namespace
}  // namespace mlc::worker
