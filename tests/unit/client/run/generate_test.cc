#include "client/run/generate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mlc::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(GenerateTest, TokensAreReadWhateverDividesThem) {
  EXPECT_THAT(*ParseTokens("1,2 3,\n 40"), ElementsAre(1, 2, 3, 40));
  EXPECT_THAT(*ParseTokens(" 1 ,2\n"), ElementsAre(1, 2));
  for (const char* text : {"", " , ", "1,,2", "1, ,2", "1,", ",1", "1, ", "a", "1,b", "-1", "1.5",
                           "0x3", "99999999999999999999"}) {
    EXPECT_EQ(ParseTokens(text).status().code(), StatusCode::kInvalidArgument) << text;
  }
}

TEST(GenerateTest, APromptIsReadInTheLongestStepsThatFit) {
  EXPECT_THAT(*PlanPrompt(1, {1}), ElementsAre(1));
  EXPECT_THAT(*PlanPrompt(3, {1}), ElementsAre(1, 1, 1));
  EXPECT_THAT(*PlanPrompt(74, {1, 8, 32}), ElementsAre(32, 32, 8, 1, 1));
  EXPECT_THAT(*PlanPrompt(16, {8}), ElementsAre(8, 8));
}

TEST(GenerateTest, APromptThatIsNotMadeOfTheStepsIsRefused) {
  const Status status = PlanPrompt(20, {8, 16}).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("a prompt of 20 tokens is not made of steps of 8, 16"));
}

}  // namespace
}  // namespace mlc::client
