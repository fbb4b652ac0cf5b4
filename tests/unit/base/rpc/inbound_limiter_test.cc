#include "base/rpc/inbound_limiter.h"

#include <gtest/gtest.h>

namespace mlc::transport {
namespace {

using Decision = InboundLimiter::Decision;

constexpr InboundLimits kTerms = {.unauthenticated_ms = 10'000,
                                  .silent_ms = 5'000,
                                  .first_bytes = 300,
                                  .first_rate = 100,
                                  .first_burst = 700,
                                  .rest_rate = 10,
                                  .rest_burst = 1'000,
                                  .unauthenticated_call_cost = 200,
                                  .one_rate = 1'000'000,
                                  .one_burst = 1'000'000,
                                  .all_rate = 2'000'000,
                                  .all_burst = 2'000'000,
                                  .quiet = 1'000,
                                  .unattributed = 2'000'000,
                                  .unattributed_of_all = 10'000'000,
                                  .decay_rate = 100,
                                  .large_rate = 10'000'000,
                                  .large_burst = 10'000'000};

class InboundLimiterTest : public ::testing::Test {
 protected:
  InboundLimiter::Account Unauthenticated() const { return {kTerms, false, 0}; }
  InboundLimiter::Account Authenticated() const { return {kTerms, true, 0}; }
  // All that it may now.
  int64_t Take(InboundLimiter::Account& account, int64_t now_ms) {
    const int64_t bytes = limiter_.AllowedBytes(account, now_ms);
    limiter_.RecordBytes(account, bytes, now_ms);
    return bytes;
  }

  InboundLimiter limiter_{kTerms, 0};
};

TEST_F(InboundLimiterTest, AnUnauthenticatedConnectionIsReadSlowly) {
  InboundLimiter::Account one = Unauthenticated();
  EXPECT_EQ(Take(one, 0), 300);
  EXPECT_EQ(Take(one, 0), 1'000);
  EXPECT_EQ(Take(one, 0), 0);
  EXPECT_EQ(Take(one, 9'000), 90);
  limiter_.Attribute(one, 0, 9'000);
  EXPECT_GT(Take(one, 9'000), 100'000);
}

TEST_F(InboundLimiterTest, UnauthenticatedConnectionsShareARate) {
  InboundLimiter::Account one = Unauthenticated(), two = Unauthenticated(),
                          three = Unauthenticated();
  EXPECT_EQ(Take(one, 0), 300);
  EXPECT_EQ(Take(one, 0), 1'000);
  EXPECT_EQ(Take(two, 0), 300) << "whatever others have said";
  EXPECT_EQ(Take(two, 0), 0);
  EXPECT_EQ(Take(three, 0), 100);
  EXPECT_EQ(Take(three, 0), 0);
  EXPECT_EQ(Take(three, 1'000), 100);
  EXPECT_EQ(Take(two, 1'000), 10);
  InboundLimiter::Account authenticated = Authenticated();
  EXPECT_EQ(limiter_.AllowedBytes(authenticated, 1'000), 1'000'000)
      << "they take nothing from the others";
}

TEST_F(InboundLimiterTest, UnauthenticatedAndSilentConnectionsTimeOut) {
  InboundLimiter::Account silent = Authenticated(), unauthenticated = Unauthenticated(),
                          authenticated = Authenticated();
  (void)Take(unauthenticated, 0);
  (void)Take(authenticated, 0);
  limiter_.Attribute(authenticated, 2'000'000, 0);
  EXPECT_EQ(limiter_.Check(silent, 5'000), Decision::kKeep);
  EXPECT_EQ(limiter_.Check(silent, 5'001), Decision::kSilent);
  EXPECT_EQ(limiter_.Check(unauthenticated, 10'000), Decision::kKeep);
  EXPECT_EQ(limiter_.Check(unauthenticated, 10'001), Decision::kUnauthenticatedTimeout);
  EXPECT_EQ(limiter_.Check(authenticated, 3'600'000), Decision::kKeep);
}

TEST_F(InboundLimiterTest, SlowConnectionsAreNotStarvedByFastOnes) {
  InboundLimiter::Account loud[3] = {Authenticated(), Authenticated(), Authenticated()};
  for (InboundLimiter::Account& one : loud) {
    limiter_.RecordBytes(one, limiter_.AllowedBytes(one, 0), 0);
    limiter_.Attribute(one, 2'000'000, 0);
  }
  EXPECT_EQ(limiter_.AllowedBytes(loud[0], 0), 0);
  InboundLimiter::Account quiet = Authenticated();
  EXPECT_EQ(Take(quiet, 0), 1'000);
  EXPECT_EQ(Take(quiet, 0), 0);
}

TEST_F(InboundLimiterTest, UnattributedBytesAreAFlood) {
  InboundLimiter::Account one = Authenticated();
  int64_t now_ms = 0;
  for (; limiter_.Check(one, now_ms) == Decision::kKeep; now_ms += 100) (void)Take(one, now_ms);
  EXPECT_GE(one.taken, 2'000'000);
  EXPECT_LE(one.taken, 3'200'000);
  limiter_.Close(one);
}

TEST_F(InboundLimiterTest, CallsAccountForTheirOwnBytesOnly) {
  InboundLimiter::Account one = Authenticated();
  for (int64_t now_ms = 0; now_ms < 60'000; now_ms += 500) {
    const int64_t bytes = Take(one, now_ms);
    limiter_.Attribute(one, bytes, now_ms);
    EXPECT_EQ(one.unattributed, 0);
    ASSERT_EQ(limiter_.Check(one, now_ms), Decision::kKeep);
  }
  EXPECT_GT(one.taken, 50'000'000);
  // Claims of the past buy nothing.
  for (int i = 0; i < 100; ++i) limiter_.Attribute(one, 1'000'000, 60'000);
  limiter_.RecordBytes(one, 2'001'000, 60'000);
  EXPECT_EQ(limiter_.Check(one, 60'000), Decision::kFlood);
}

TEST_F(InboundLimiterTest, KeepaliveBytesDecayWithTime) {
  InboundLimiter::Account one = Authenticated();
  for (int64_t s = 0; s < 100'000; ++s) {
    limiter_.RecordBytes(one, 90, s * 1'000);
    ASSERT_EQ(limiter_.Check(one, s * 1'000), Decision::kKeep);
  }
  EXPECT_LT(one.unattributed, 1'000);
}

TEST_F(InboundLimiterTest, LargeRequestsWaitWhenAllTogetherAreTooLarge) {
  InboundLimits terms = kTerms;
  terms.unattributed_of_all = 1'000'000;
  InboundLimiter limiter(terms, 0);
  InboundLimiter::Account one = Authenticated(), two = Authenticated(), small = Authenticated();
  limiter.RecordBytes(one, 600'000, 0);
  limiter.RecordBytes(two, 600'000, 0);
  limiter.RecordBytes(small, 1'000, 0);
  EXPECT_EQ(limiter.AllowedBytes(one, 1'000), 0);
  EXPECT_GT(limiter.AllowedBytes(small, 1'000), 0);
  EXPECT_EQ(limiter.Check(one, 1'000), Decision::kKeep);
  // Whoever ends makes room.
  limiter.Attribute(two, 600'000, 1'000);
  EXPECT_GT(limiter.AllowedBytes(one, 1'000), 0);
  limiter.RecordBytes(two, 600'000, 2'000);
  EXPECT_EQ(limiter.Check(two, 10'001), Decision::kKeep);
  EXPECT_EQ(limiter.Check(one, 10'001), Decision::kFlood) << "for too long";
  limiter.Close(one);
  EXPECT_GT(limiter.AllowedBytes(two, 10'001), 0);
}

TEST_F(InboundLimiterTest, CallsOfUnauthenticatedConnectionsUseUpTheirRates) {
  InboundLimiter::Account one = Unauthenticated(), two = Unauthenticated();
  EXPECT_EQ(Take(one, 0), 300);
  for (int i = 0; i < 10; ++i) limiter_.OpenUnauthenticated();
  EXPECT_EQ(Take(one, 0), 0) << "the rest";
  EXPECT_EQ(Take(two, 0), 0) << "and the first bytes of others";
  EXPECT_EQ(Take(two, 7'000), 0) << "700 are still to be paid for";
  EXPECT_GT(Take(two, 8'000), 0);
  EXPECT_EQ(Take(one, 100'000), 0) << "1000 are still to be paid for";
  EXPECT_GT(Take(one, 101'000), 0);
}

TEST_F(InboundLimiterTest, AFloodOfCallsShutsNewClientsOutNoLongerThanABucketTakesToFill) {
  for (int i = 0; i < 1'000'000; ++i) limiter_.OpenUnauthenticated();
  InboundLimiter::Account one = Unauthenticated();
  EXPECT_EQ(Take(one, 7'000), 0);
  EXPECT_GT(Take(one, 8'000), 0);
}

TEST_F(InboundLimiterTest, TheFirstCallOfAConnectionIsPaidForWhenItsMessageComes) {
  for (int i = 0; i < 100; ++i) {
    InboundLimiter::Account one = Unauthenticated();
    limiter_.OpenUnauthenticated();
    limiter_.Attribute(one, 0, 0);
    limiter_.Attribute(one, 0, 0);
  }
  InboundLimiter::Account other = Unauthenticated();
  EXPECT_EQ(Take(other, 0), 300);
  EXPECT_EQ(Take(other, 0), 1'000);
}

// Of large requests, and of calls without a message.
class LargeRequestsTest : public ::testing::Test {
 protected:
  static InboundLimits Terms() {
    InboundLimits terms = kTerms;
    terms.small = 500;
    terms.large_rate = 10'000;
    terms.large_burst = 2'000;
    terms.call_cost = 400;
    terms.open_calls = 10;
    terms.open_calls_decay = 2;
    return terms;
  }
  static InboundLimiter::Account Authenticated() { return {Terms(), true, 0}; }

  InboundLimiter limiter_{Terms(), 0};
};

TEST_F(LargeRequestsTest, BytesBeyondASmallRequestShareARate) {
  InboundLimiter::Account one = Authenticated(), two = Authenticated();
  EXPECT_EQ(limiter_.AllowedBytes(one, 0), 2'000);
  limiter_.RecordBytes(one, 2'500, 0);
  EXPECT_EQ(limiter_.AllowedBytes(one, 0), 0);
  EXPECT_EQ(limiter_.AllowedBytes(two, 0), 500) << "small requests always pass";
  EXPECT_EQ(limiter_.AllowedBytes(one, 100), 1'000);
  limiter_.Attribute(one, 2'500, 100);
  limiter_.RecordBytes(one, 300, 100);
  EXPECT_EQ(limiter_.AllowedBytes(two, 100), 1'000) << "a small request takes nothing of it";
}

TEST_F(LargeRequestsTest, CallsWithoutAMessageUseUpTheirRate) {
  InboundLimiter::Account one = Authenticated(), two = Authenticated();
  for (int i = 0; i < 10; ++i) limiter_.Open(one, 0);
  EXPECT_EQ(limiter_.Owed(one), 4'000);
  EXPECT_EQ(limiter_.AllowedBytes(one, 0), 0) << "not even a small request";
  EXPECT_EQ(limiter_.AllowedBytes(two, 0), 500);
  EXPECT_EQ(limiter_.AllowedBytes(one, 200), 0) << "2000 are still to be paid for";
  EXPECT_GT(limiter_.AllowedBytes(one, 300), 0);
}

TEST_F(LargeRequestsTest, ACallIsPaidForWhenItsMessageComes) {
  InboundLimiter::Account one = Authenticated();
  for (int i = 0; i < 1'000; ++i) {
    limiter_.RecordBytes(one, 300, 0);
    limiter_.Open(one, 0);
    limiter_.Attribute(one, 50, 0);
    ASSERT_EQ(limiter_.Owed(one), 0);
  }
  EXPECT_EQ(limiter_.AllowedBytes(one, 0), 2'000);
  EXPECT_EQ(limiter_.Check(one, 0), Decision::kKeep);
}

TEST_F(LargeRequestsTest, ManyCallsWithoutAMessageAreAFlood) {
  InboundLimiter::Account one = Authenticated();
  limiter_.RecordBytes(one, 100, 0);
  for (int i = 0; i < 10; ++i) limiter_.Open(one, 0);
  EXPECT_EQ(limiter_.Check(one, 0), Decision::kKeep);
  limiter_.Open(one, 0);
  EXPECT_EQ(limiter_.Check(one, 0), Decision::kFlood);
  EXPECT_EQ(limiter_.Check(one, 500), Decision::kKeep) << "one is forgotten";
  EXPECT_EQ(limiter_.Check(one, 60'000), Decision::kKeep);
  EXPECT_EQ(limiter_.Owed(one), 0);
}

TEST_F(LargeRequestsTest, CallsOfUnauthenticatedConnectionsCostOthersNothing) {
  InboundLimiter::Account unauthenticated(Terms(), false, 0);
  InboundLimiter::Account one = Authenticated();
  for (int i = 0; i < 100; ++i) limiter_.Open(unauthenticated, 0);
  EXPECT_EQ(limiter_.Owed(unauthenticated), 0);
  EXPECT_EQ(limiter_.AllowedBytes(one, 0), 2'000);
}

}  // namespace
}  // namespace mlc::transport
