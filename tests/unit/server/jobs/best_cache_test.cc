#include "server/jobs/best_cache.h"

#include <gtest/gtest.h>

namespace mlc::server {
namespace {

constexpr Digest kOne{1, 1}, kTwo{2, 2};
constexpr uint64_t kA = 1, kB = 2;

BestConfig Named(const std::string& config) {
  BestConfig best;
  best.best.config = config;
  return best;
}

class BestCacheTest : public ::testing::Test {
 protected:
  std::string Get(const Digest& workload, uint64_t question) {
    const auto answer = cache_.Get(workload, question, [&]() -> Result<BestCache::Answer> {
      return BestCache::Answer{Named("answer " + std::to_string(++asked_)), holds_above_ns_};
    });
    return answer.ok() ? answer->best.config : answer.status().message();
  }

  BestCache cache_;
  int asked_ = 0;
  double holds_above_ns_ = std::numeric_limits<double>::infinity();
};

TEST_F(BestCacheTest, KeepsAnswersUntilTheirWorkloadChanges) {
  EXPECT_EQ(Get(kOne, kA), "answer 1");
  EXPECT_EQ(Get(kOne, kB), "answer 2");
  EXPECT_EQ(Get(kTwo, kA), "answer 3");
  EXPECT_EQ(Get(kOne, kA), "answer 1");
  cache_.Changed(kOne, 100);
  EXPECT_EQ(Get(kOne, kA), "answer 4");
  EXPECT_EQ(Get(kOne, kB), "answer 5");
  EXPECT_EQ(Get(kTwo, kA), "answer 3");
}

TEST_F(BestCacheTest, KeepsAnswersThatHoldAgainstTheRecord) {
  holds_above_ns_ = 100;
  EXPECT_EQ(Get(kOne, kA), "answer 1");
  holds_above_ns_ = 50;
  EXPECT_EQ(Get(kOne, kB), "answer 2");
  cache_.Changed(kOne, 101);
  EXPECT_EQ(Get(kOne, kA), "answer 1");
  cache_.Changed(kOne, 60);
  EXPECT_EQ(Get(kOne, kB), "answer 2");
  EXPECT_EQ(Get(kOne, kA), "answer 3");
  cache_.Changed(kOne, 0);
  EXPECT_EQ(Get(kOne, kB), "answer 4");
}

TEST_F(BestCacheTest, KeepsNoLongAnswers) {
  const auto ask = [&]() -> Result<BestCache::Answer> {
    ++asked_;
    return BestCache::Answer{Named(std::string(100'000, 'x')), 1};
  };
  EXPECT_EQ(cache_.Get(kOne, kA, ask)->best.config.size(), 100'000u);
  EXPECT_EQ(cache_.Get(kOne, kA, ask)->best.config.size(), 100'000u);
  EXPECT_EQ(asked_, 2);
}

// The record may have come too late for the answer.
TEST_F(BestCacheTest, KeepsNoAnswerThatAChangeOvertook) {
  const auto overtaken = cache_.Get(kOne, kA, [&]() -> Result<BestCache::Answer> {
    cache_.Changed(kOne, 100);
    return BestCache::Answer{Named("old"), 1};
  });
  EXPECT_EQ(overtaken->best.config, "old");
  EXPECT_EQ(Get(kOne, kA), "answer 1");
}

TEST_F(BestCacheTest, KeepsNoErrors) {
  const auto failed =
      cache_.Get(kOne, kA, [&]() -> Result<BestCache::Answer> { return Internal("disk"); });
  EXPECT_FALSE(failed.ok());
  EXPECT_EQ(Get(kOne, kA), "answer 1");
}

TEST_F(BestCacheTest, IsBounded) {
  for (uint64_t n = 0; n < 50'000; ++n) (void)Get(Digest{n, n}, kA);
  EXPECT_EQ(asked_, 50'000);
  EXPECT_EQ(Get(Digest{49'999, 49'999}, kA), "answer 50000");
  EXPECT_EQ(Get(Digest{0, 0}, kA), "answer 50001");
}

// A caller may ask the same of each workload in many ways.
TEST_F(BestCacheTest, IsBoundedInBytes) {
  const auto ask = [&]() -> Result<BestCache::Answer> {
    ++asked_;
    return BestCache::Answer{Named(std::string(30'000, 'x')), 1};
  };
  for (uint64_t n = 0; n < 2'000; ++n) (void)cache_.Get(kOne, n, ask);
  EXPECT_EQ(asked_, 2'000);
  (void)cache_.Get(kOne, 1'999, ask);
  EXPECT_EQ(asked_, 2'000);
  (void)cache_.Get(kOne, 0, ask);
  EXPECT_EQ(asked_, 2'001) << "60 MB would be kept";
}

TEST_F(BestCacheTest, KeepsTheWordsOfAQuestionOnce) {
  const uint64_t one = cache_.NumberOf("one");
  EXPECT_NE(one, cache_.NumberOf("two"));
  EXPECT_EQ(one, cache_.NumberOf("one"));
  EXPECT_EQ(Get(kOne, one), "answer 1");
  // 40 MB of others: it is forgotten, and so are its answers.
  for (int n = 0; n < 40; ++n) (void)cache_.NumberOf(std::string(1'000'000, 'x') + char('0' + n));
  const uint64_t again = cache_.NumberOf("one");
  EXPECT_NE(one, again);
  EXPECT_EQ(Get(kOne, again), "answer 2");
}

}  // namespace
}  // namespace mlc::server
