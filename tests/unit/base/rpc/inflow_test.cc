#include "base/rpc/inflow.h"

#include <gtest/gtest.h>

namespace mlc::transport {
namespace {

using Verdict = Inflow::Verdict;

constexpr InflowTerms kTerms = {.stranger_ms = 10'000,
                                .silent_ms = 5'000,
                                .first_bytes = 300,
                                .first_rate = 100,
                                .first_burst = 700,
                                .rest_rate = 10,
                                .rest_burst = 1'000,
                                .one_rate = 1'000'000,
                                .one_burst = 1'000'000,
                                .all_rate = 2'000'000,
                                .all_burst = 2'000'000,
                                .quiet = 1'000,
                                .unexplained = 2'000'000,
                                .unexplained_of_all = 10'000'000,
                                .forgiven_rate = 100};

class InflowTest : public ::testing::Test {
 protected:
  Inflow::Account Stranger() const { return {kTerms, false, 0}; }
  Inflow::Account Known() const { return {kTerms, true, 0}; }
  // All that it may now.
  int64_t Take(Inflow::Account& account, int64_t now_ms) {
    const int64_t bytes = inflow_.MayTake(account, now_ms);
    inflow_.Took(account, bytes, now_ms);
    return bytes;
  }

  Inflow inflow_{kTerms, 0};
};

TEST_F(InflowTest, AStrangerIsReadSlowlyUntilACallIsLetIn) {
  Inflow::Account one = Stranger();
  EXPECT_EQ(Take(one, 0), 300);
  EXPECT_EQ(Take(one, 0), 1'000);
  EXPECT_EQ(Take(one, 0), 0);
  EXPECT_EQ(Take(one, 9'000), 90);
  inflow_.Explain(one, 0, 9'000);
  EXPECT_GT(Take(one, 9'000), 100'000);
}

TEST_F(InflowTest, StrangersShareARate) {
  Inflow::Account one = Stranger(), two = Stranger(), three = Stranger();
  EXPECT_EQ(Take(one, 0), 300);
  EXPECT_EQ(Take(one, 0), 1'000);
  EXPECT_EQ(Take(two, 0), 300) << "whatever others have said";
  EXPECT_EQ(Take(two, 0), 0);
  EXPECT_EQ(Take(three, 0), 100);
  EXPECT_EQ(Take(three, 0), 0);
  EXPECT_EQ(Take(three, 1'000), 100);
  EXPECT_EQ(Take(two, 1'000), 10);
  Inflow::Account known = Known();
  EXPECT_EQ(inflow_.MayTake(known, 1'000), 1'000'000) << "they take nothing from the others";
}

TEST_F(InflowTest, WhoStaysAStrangerOrSilentHasToGo) {
  Inflow::Account silent = Known(), stranger = Stranger(), known = Known();
  (void)Take(stranger, 0);
  (void)Take(known, 0);
  inflow_.Explain(known, 2'000'000, 0);
  EXPECT_EQ(inflow_.Judge(silent, 5'000), Verdict::kKeep);
  EXPECT_EQ(inflow_.Judge(silent, 5'001), Verdict::kSilent);
  EXPECT_EQ(inflow_.Judge(stranger, 10'000), Verdict::kKeep);
  EXPECT_EQ(inflow_.Judge(stranger, 10'001), Verdict::kStranger);
  EXPECT_EQ(inflow_.Judge(known, 3'600'000), Verdict::kKeep);
}

TEST_F(InflowTest, TheQuietGoOnWhenTheLoudHaveUsedUpEverything) {
  Inflow::Account loud[3] = {Known(), Known(), Known()};
  for (Inflow::Account& one : loud) {
    inflow_.Took(one, inflow_.MayTake(one, 0), 0);
    inflow_.Explain(one, 2'000'000, 0);
  }
  EXPECT_EQ(inflow_.MayTake(loud[0], 0), 0);
  Inflow::Account quiet = Known();
  EXPECT_EQ(Take(quiet, 0), 1'000);
  EXPECT_EQ(Take(quiet, 0), 0);
}

TEST_F(InflowTest, WhatNoCallExplainsIsAFlood) {
  Inflow::Account one = Known();
  int64_t now_ms = 0;
  for (; inflow_.Judge(one, now_ms) == Verdict::kKeep; now_ms += 100) (void)Take(one, now_ms);
  EXPECT_GE(one.taken, 2'000'000);
  EXPECT_LE(one.taken, 3'200'000);
  inflow_.Close(one);
}

TEST_F(InflowTest, CallsExplainWhatTheyBringAndNoMore) {
  Inflow::Account one = Known();
  for (int64_t now_ms = 0; now_ms < 60'000; now_ms += 500) {
    const int64_t bytes = Take(one, now_ms);
    inflow_.Explain(one, bytes, now_ms);
    EXPECT_EQ(one.unexplained, 0);
    ASSERT_EQ(inflow_.Judge(one, now_ms), Verdict::kKeep);
  }
  EXPECT_GT(one.taken, 50'000'000);
  // Claims of the past buy nothing.
  for (int i = 0; i < 100; ++i) inflow_.Explain(one, 1'000'000, 60'000);
  inflow_.Took(one, 2'001'000, 60'000);
  EXPECT_EQ(inflow_.Judge(one, 60'000), Verdict::kFlood);
}

TEST_F(InflowTest, TimeForgivesWhatKeepsAConnectionAlive) {
  Inflow::Account one = Known();
  for (int64_t s = 0; s < 100'000; ++s) {
    inflow_.Took(one, 90, s * 1'000);
    ASSERT_EQ(inflow_.Judge(one, s * 1'000), Verdict::kKeep);
  }
  EXPECT_LT(one.unexplained, 1'000);
}

TEST_F(InflowTest, LargeRequestsWaitWhenAllTogetherAreTooLarge) {
  InflowTerms terms = kTerms;
  terms.unexplained_of_all = 1'000'000;
  Inflow inflow(terms, 0);
  Inflow::Account one = Known(), two = Known(), small = Known();
  inflow.Took(one, 600'000, 0);
  inflow.Took(two, 600'000, 0);
  inflow.Took(small, 1'000, 0);
  EXPECT_EQ(inflow.MayTake(one, 1'000), 0);
  EXPECT_GT(inflow.MayTake(small, 1'000), 0);
  EXPECT_EQ(inflow.Judge(one, 1'000), Verdict::kKeep);
  // Whoever ends makes room.
  inflow.Explain(two, 600'000, 1'000);
  EXPECT_GT(inflow.MayTake(one, 1'000), 0);
  inflow.Took(two, 600'000, 2'000);
  EXPECT_EQ(inflow.Judge(two, 10'001), Verdict::kKeep);
  EXPECT_EQ(inflow.Judge(one, 10'001), Verdict::kFlood) << "for too long";
  inflow.Close(one);
  EXPECT_GT(inflow.MayTake(two, 10'001), 0);
}

}  // namespace
}  // namespace mlc::transport
