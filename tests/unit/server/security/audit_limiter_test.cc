#include "server/security/audit_limiter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace mlc::server {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr AuditLimits kLimits = {.rate = 1, .burst = 3, .summary_ms = 10'000, .callers = 2};

int Allowed(AuditLimiter& limiter, const std::string& caller, int lines, int64_t now_ms) {
  int allowed = 0;
  for (int i = 0; i < lines; ++i) allowed += limiter.Allow(caller, now_ms) ? 1 : 0;
  return allowed;
}

TEST(AuditLimiterTest, ACallerHasSomeLinesAtOnceAndThenARate) {
  AuditLimiter limiter(kLimits);
  EXPECT_EQ(Allowed(limiter, "submit eve", 2'000, 0), 3);
  EXPECT_EQ(Allowed(limiter, "submit eve", 2'000, 2'000), 2);
}

TEST(AuditLimiterTest, ACallerHidesNoLineOfAnother) {
  AuditLimiter limiter(kLimits);
  (void)Allowed(limiter, "submit eve", 2'000, 0);
  EXPECT_TRUE(limiter.Allow("submit mallory", 0));
}

TEST(AuditLimiterTest, WhatIsLeftOutIsCountedOnce) {
  AuditLimiter limiter(kLimits);
  EXPECT_THAT(limiter.TakeSummary(0), IsEmpty());
  (void)Allowed(limiter, "submit eve", 10, 1'000);
  EXPECT_THAT(limiter.TakeSummary(9'999), IsEmpty()) << "not due";
  const auto summary = limiter.TakeSummary(10'000);
  ASSERT_THAT(summary, SizeIs(1));
  EXPECT_EQ(summary[0].caller, "submit eve");
  EXPECT_EQ(summary[0].lines, 7);
  EXPECT_THAT(limiter.TakeSummary(30'000), IsEmpty());
}

TEST(AuditLimiterTest, CallersBeyondThoseRememberedShareARate) {
  AuditLimiter limiter(kLimits);
  int allowed = 0;
  for (int i = 0; i < 100; ++i) allowed += limiter.Allow("read " + std::to_string(i), 0) ? 1 : 0;
  EXPECT_EQ(allowed, 2 + 3);
  EXPECT_EQ(limiter.TakeSummary(0).size(), 1U);
  EXPECT_EQ(Allowed(limiter, "read new", 10, 60'000), 3) << "the first ones are forgotten";
}

}  // namespace
}  // namespace mlc::server
