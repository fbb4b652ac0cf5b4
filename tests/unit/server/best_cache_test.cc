#include "server/best_cache.h"

#include <gtest/gtest.h>

namespace mlc::server {
namespace {

constexpr Digest kOne{1, 1}, kTwo{2, 2};

proto::BestConfig Named(const std::string& config) {
  proto::BestConfig best;
  best.set_config(config);
  return best;
}

class BestCacheTest : public ::testing::Test {
 protected:
  std::string Get(const Digest& workload, const std::string& question) {
    const auto answer = cache_.Get(workload, question, [&]() -> Result<BestCache::Answer> {
      return BestCache::Answer{Named("answer " + std::to_string(++asked_)), holds_above_ns_};
    });
    return answer.ok() ? answer->config() : answer.status().message();
  }

  BestCache cache_;
  int asked_ = 0;
  double holds_above_ns_ = std::numeric_limits<double>::infinity();
};

TEST_F(BestCacheTest, KeepsAnswersUntilTheirWorkloadChanges) {
  EXPECT_EQ(Get(kOne, "a"), "answer 1");
  EXPECT_EQ(Get(kOne, "b"), "answer 2");
  EXPECT_EQ(Get(kTwo, "a"), "answer 3");
  EXPECT_EQ(Get(kOne, "a"), "answer 1");
  cache_.Changed(kOne, 100);
  EXPECT_EQ(Get(kOne, "a"), "answer 4");
  EXPECT_EQ(Get(kOne, "b"), "answer 5");
  EXPECT_EQ(Get(kTwo, "a"), "answer 3");
}

TEST_F(BestCacheTest, KeepsAnswersThatHoldAgainstTheRecord) {
  holds_above_ns_ = 100;
  EXPECT_EQ(Get(kOne, "a"), "answer 1");
  holds_above_ns_ = 50;
  EXPECT_EQ(Get(kOne, "b"), "answer 2");
  cache_.Changed(kOne, 101);
  EXPECT_EQ(Get(kOne, "a"), "answer 1");
  cache_.Changed(kOne, 60);
  EXPECT_EQ(Get(kOne, "b"), "answer 2");
  EXPECT_EQ(Get(kOne, "a"), "answer 3");
  cache_.Changed(kOne, 0);
  EXPECT_EQ(Get(kOne, "b"), "answer 4");
}

TEST_F(BestCacheTest, KeepsNoLongAnswers) {
  const auto ask = [&]() -> Result<BestCache::Answer> {
    ++asked_;
    return BestCache::Answer{Named(std::string(100'000, 'x')), 1};
  };
  EXPECT_EQ(cache_.Get(kOne, "a", ask)->config().size(), 100'000u);
  EXPECT_EQ(cache_.Get(kOne, "a", ask)->config().size(), 100'000u);
  EXPECT_EQ(asked_, 2);
}

// The record may have come too late for the answer.
TEST_F(BestCacheTest, KeepsNoAnswerThatAChangeOvertook) {
  const auto overtaken = cache_.Get(kOne, "a", [&]() -> Result<BestCache::Answer> {
    cache_.Changed(kOne, 100);
    return BestCache::Answer{Named("old"), 1};
  });
  EXPECT_EQ(overtaken->config(), "old");
  EXPECT_EQ(Get(kOne, "a"), "answer 1");
}

TEST_F(BestCacheTest, KeepsNoErrors) {
  const auto failed =
      cache_.Get(kOne, "a", [&]() -> Result<BestCache::Answer> { return Internal("disk"); });
  EXPECT_FALSE(failed.ok());
  EXPECT_EQ(Get(kOne, "a"), "answer 1");
}

TEST_F(BestCacheTest, IsBounded) {
  for (uint64_t n = 0; n < 50'000; ++n) (void)Get(Digest{n, n}, "a");
  EXPECT_EQ(asked_, 50'000);
  EXPECT_EQ(Get(Digest{49'999, 49'999}, "a"), "answer 50000");
  EXPECT_EQ(Get(Digest{0, 0}, "a"), "answer 50001");
}

}  // namespace
}  // namespace mlc::server
