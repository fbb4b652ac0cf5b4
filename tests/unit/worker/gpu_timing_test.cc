#include "worker/device/cuda/gpu_timing.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace mlc::worker {
namespace {

// A device on which an execution takes `run_ns`, spread over its launches, and less with warm
// weights.
struct FakeGpu {
  double run_ns = 5000;
  double cold_extra_ns = 1000;
  int launches = 1;
  int drop = 0;  // records lost in the next takes
  int lost_times = 0;

  std::vector<KernelRecord> pending;
  uint32_t correlation = 0;
  uint64_t now = 1;
  int evictions = 0;
  std::set<int> warm;  // copies of the weights read since the eviction
  bool activations_warm = false;
  std::string* story = nullptr;  // gets the name with each eviction
  char name = 'a';

  void Launch(double ns) {
    const auto end = now + static_cast<uint64_t>(ns);
    pending.push_back({++correlation, now, end});
    now = end + 100;
  }

  GpuStage Stage() {
    GpuStage stage;
    stage.launches = launches;
    stage.copies = kGpuCopies;
    stage.execute = [this](int copy) {
      double ns = run_ns;
      if (warm.insert(copy).second) ns += cold_extra_ns;
      if (!activations_warm) ns += cold_extra_ns;
      activations_warm = true;
      for (int i = 0; i < launches; ++i) Launch(ns / launches);
      return Status();
    };
    stage.evict = [this] {
      ++evictions;
      if (story != nullptr) *story += name;
      warm.clear();
      activations_warm = false;
      Launch(30000);
      return Status();
    };
    stage.take = [this]() -> Result<std::vector<KernelRecord>> {
      std::vector<KernelRecord> records = std::exchange(pending, {});
      for (KernelRecord& record : records) {
        if (lost_times > 0) record.start_ns = record.end_ns = 0, --lost_times;
      }
      if (drop > 0 && records.size() > 1) records.pop_back(), --drop;
      return records;
    };
    return stage;
  }
};

TEST(GpuTiming, SamplesMeetWarmActivationsAndColdWeights) {
  FakeGpu gpu;
  const Result<Timing> timing = TimeOnGpu(gpu.Stage(), {});
  ASSERT_TRUE(timing.ok()) << timing.status().ToString();
  EXPECT_FALSE(timing->stopped_early);
  EXPECT_EQ(timing->median_ns, 6000);
  EXPECT_EQ(timing->p10_ns, 6000);
  EXPECT_EQ(timing->p90_ns, 6000);
  EXPECT_EQ(timing->cold_ns, 7000);
  EXPECT_EQ(timing->samples, 20);
  EXPECT_EQ(gpu.evictions, 20 + 7);
}

TEST(GpuTiming, LaunchesOfAnExecutionAreSummed) {
  FakeGpu gpu;
  gpu.launches = 4;
  gpu.cold_extra_ns = 0;
  const Result<Timing> timing = TimeOnGpu(gpu.Stage(), {});
  ASSERT_TRUE(timing.ok());
  EXPECT_EQ(timing->median_ns, 5000);
}

TEST(GpuTiming, SlowKernelsStopEarly) {
  FakeGpu gpu;
  gpu.cold_extra_ns = 0;
  const Result<Timing> timing = TimeOnGpu(gpu.Stage(), {.early_stop_ns = 3000});
  ASSERT_TRUE(timing.ok());
  EXPECT_TRUE(timing->stopped_early);
  EXPECT_EQ(timing->median_ns, 5000);
  EXPECT_EQ(gpu.evictions, 0) << "no time is spent on it";
}

TEST(GpuTiming, TrialsFarFromTheThresholdHaveNoColdTime) {
  FakeGpu gpu;
  const Result<Timing> timing = TimeOnGpu(gpu.Stage(), {.early_stop_ns = 4500});
  ASSERT_TRUE(timing.ok());
  EXPECT_FALSE(timing->stopped_early);
  EXPECT_EQ(timing->cold_ns, 0);
}

TEST(GpuTiming, LongKernelsHaveFewSamples) {
  FakeGpu gpu;
  gpu.run_ns = 50e6;
  const Result<Timing> timing = TimeOnGpu(gpu.Stage(), {});
  ASSERT_TRUE(timing.ok());
  EXPECT_EQ(timing->samples, 3);
}

TEST(GpuTiming, MissingRecordsAreTakenAgainOnce) {
  FakeGpu gpu;
  gpu.drop = 1;
  EXPECT_TRUE(TimeOnGpu(gpu.Stage(), {}).ok());
  gpu.drop = 2;
  const Result<Timing> timing = TimeOnGpu(gpu.Stage(), {});
  EXPECT_EQ(timing.status().code(), StatusCode::kUnavailable);
  EXPECT_NE(timing.status().message().find("CUPTI lost the records"), std::string::npos);
}

TEST(GpuTiming, SamplesWithALostTimeAreLeftOut) {
  FakeGpu gpu;
  gpu.cold_extra_ns = 0;
  // The warming execution and the first of the three runs of the early-stop check.
  gpu.lost_times = 2;
  const Result<Timing> timing = TimeOnGpu(gpu.Stage(), {});
  ASSERT_TRUE(timing.ok());
  EXPECT_EQ(timing->median_ns, 5000);
}

TEST(GpuTiming, SeveralKernelsAreTimedInTurns) {
  FakeGpu fast, slow;
  std::string story;
  fast.story = slow.story = &story;
  slow.name = 'b';
  slow.run_ns = 6000;
  const std::vector<GpuStage> stages = {fast.Stage(), slow.Stage()};
  const auto timings =
      TimeInTurns(stages, {.min_samples = 2, .max_samples = 4, .rounds = 3, .cold_samples = 3});
  ASSERT_TRUE(timings.ok()) << timings.status().ToString();
  EXPECT_EQ(story,
            "aabb"
            "bbaa"
            "aabb"
            "aaa"
            "bbb")
      << "evictions: of samples, then of cold ones";
  ASSERT_EQ(timings->size(), 2u);
  EXPECT_EQ((*timings)[0].median_ns, 6000);
  EXPECT_EQ((*timings)[1].median_ns, 7000);
  EXPECT_EQ((*timings)[0].samples, 6);
  EXPECT_EQ((*timings)[1].cold_ns, 8000);
}

TEST(GpuTiming, ContendersGetMoreSamplesWhileThereIsTime) {
  FakeGpu gpu;
  int asked = 0;
  GpuTimingOptions options;
  options.more = [&] { return ++asked <= 3; };
  Result<Timing> timing = TimeOnGpu(gpu.Stage(), options);
  ASSERT_TRUE(timing.ok()) << timing.status().ToString();
  EXPECT_EQ(timing->samples, 20 + 3 * 5);
  EXPECT_EQ(asked, 4);
  EXPECT_EQ(timing->median_ns, 6000);
  EXPECT_EQ(timing->cold_ns, 7000);
  options.more = [] { return true; };
  EXPECT_EQ(TimeOnGpu(gpu.Stage(), options)->samples, 200) << "not for ever";
  options.early_stop_ns = 4500;
  timing = TimeOnGpu(gpu.Stage(), options);
  EXPECT_FALSE(timing->stopped_early);
  EXPECT_EQ(timing->samples, 20) << "no contender";
  options.early_stop_ns = 3000;
  EXPECT_TRUE(TimeOnGpu(gpu.Stage(), options)->stopped_early);
}

TEST(GpuTiming, TurnsGoOnWhileThereIsTime) {
  FakeGpu fast, slow;
  slow.run_ns = 6000;
  const std::vector<GpuStage> stages = {fast.Stage(), slow.Stage()};
  int asked = 0;
  GpuTimingOptions options;
  options.more = [&] { return ++asked <= 2; };
  const auto timings = TimeInTurns(stages, options);
  ASSERT_TRUE(timings.ok()) << timings.status().ToString();
  for (const Timing& timing : *timings) EXPECT_EQ(timing.samples, (5 + 2) * 10);
  EXPECT_EQ((*timings)[0].median_ns, 6000);
  EXPECT_EQ((*timings)[1].cold_ns, 8000);
  options.more = [] { return true; };
  EXPECT_EQ(TimeInTurns(stages, options)->front().samples, 50 * 10) << "not for ever";
}

TEST(GpuTiming, RecordsLostInATurnAreTakenAgain) {
  FakeGpu gpu, other;
  const std::vector<GpuStage> stages = {gpu.Stage(), other.Stage()};
  gpu.drop = 1;
  const auto timings = TimeInTurns(stages, {});
  ASSERT_TRUE(timings.ok());
  EXPECT_EQ((*timings)[0].median_ns, 6000);
  EXPECT_GT((*timings)[0].samples, 20);
}

}  // namespace
}  // namespace mlc::worker
