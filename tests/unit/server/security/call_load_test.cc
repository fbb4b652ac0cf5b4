#include "server/security/call_load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace mlc::server {
namespace {

using ::testing::HasSubstr;

constexpr CallLimits kLimits = {.small_call = 10,
                                .small_total = 100,
                                .small_of_one = 50,
                                .large_total = 1'000,
                                .large_of_one = 400,
                                .longest_ms = 60};
const Caller kAda{"ada", Role::kRead, false};
const Caller kBob{"bob", Role::kRead, false};

TEST(CallLoadTest, EachCallerHasAPart) {
  CallLoad load(kLimits);
  auto first = load.Take(kAda, 300);
  ASSERT_TRUE(first.ok());
  const Status more = load.Take(kAda, 101).status();
  EXPECT_EQ(more.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(more.message(), HasSubstr("the calls of ada"));
  EXPECT_TRUE(load.Take(kAda, 100).ok()) << "given back at once";
  EXPECT_TRUE(load.Take(kBob, 400).ok());
  first->reset();
  EXPECT_TRUE(load.Take(kAda, 400).ok());
}

TEST(CallLoadTest, AllTogetherAreBounded) {
  CallLoad load(kLimits);
  std::vector<std::unique_ptr<CallLoad::Ticket>> held;
  for (const char* name : {"a", "b", "c"}) {
    auto ticket = load.Take({name, Role::kRead, false}, 320);
    ASSERT_TRUE(ticket.ok()) << name;
    held.push_back(*std::move(ticket));
  }
  const Status more = load.Take(kAda, 41).status();
  EXPECT_EQ(more.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(more.message(), HasSubstr("try again"));
  EXPECT_TRUE(load.Take(kAda, 40).ok());
}

TEST(CallLoadTest, SmallCallsHaveRoomWhenLargeOnesHaveNone) {
  CallLoad load(kLimits);
  const auto one = load.Take(kAda, 400), two = load.Take(kBob, 400);
  EXPECT_FALSE(load.Take({"c", Role::kRead, false}, 300).ok());
  EXPECT_TRUE(load.Take({"c", Role::kRead, false}, 10).ok());
  EXPECT_TRUE(load.Take(kAda, 10).ok());
}

TEST(CallLoadTest, LocalCallersShareTheWhole) {
  CallLoad load(kLimits);
  EXPECT_TRUE(load.Take(Caller::Local(), 1'000).ok());
  EXPECT_FALSE(load.Take(Caller::Local(), 1'001).ok());
}

TEST(CallLoadTest, ACallGrowsAndShrinks) {
  CallLoad load(kLimits);
  auto call = load.Take(kAda, 5);
  ASSERT_TRUE(call.ok());
  EXPECT_TRUE((*call)->Resize(400).ok());
  EXPECT_FALSE((*call)->Resize(401).ok());
  EXPECT_FALSE(load.Take(kAda, 11).ok()) << "it holds what it held";
  EXPECT_TRUE((*call)->Resize(10).ok());
  EXPECT_TRUE(load.Take(kAda, 400).ok());
  EXPECT_TRUE(load.Take(kAda, 10).ok());
}

TEST(CallLoadTest, AnswersThatNobodyTakesEnd) {
  CallLoad load(kLimits);
  auto call = load.Take(kAda, 300);
  int ended = 0;
  (*call)->Answered(1'000, [&] {
    ++ended;
    call->reset();  // as the end of a call may
  });
  load.Review(1'059);
  EXPECT_EQ(ended, 0);
  load.Review(1'060);
  load.Review(1'061);
  EXPECT_EQ(ended, 1);
  EXPECT_TRUE(load.Take(kAda, 400).ok());
}

}  // namespace
}  // namespace mlc::server
