#include "compiler/schedule/space/config.h"

#include <gtest/gtest.h>

#include <string>

namespace mlc::schedule {
namespace {

TEST(Config, TextReadsBack) {
  const Config config{"contraction", 3, {{"mr", 14}, {"nr", 2}, {"bias", -1}}};
  EXPECT_EQ(config.ToText(), "contraction/3 mr=14 nr=2 bias=-1");
  const Result<Config> read = Config::Parse(config.ToText());
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(*read, config);
  EXPECT_EQ((*read)["nr"], 2);
}

TEST(Config, NoKnobsIsAConfig) {
  const Result<Config> read = Config::Parse("copy/1");
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(read->ToText(), "copy/1");
}

TEST(Config, BadTextIsExplained) {
  const auto error = [](const std::string& text) { return Config::Parse(text).status(); };
  EXPECT_EQ(error(""), InvalidArgument("line 1, column 1: expected a word, found the end"));
  EXPECT_EQ(error("copy"), InvalidArgument("line 1, column 5: expected '/', found the end"));
  EXPECT_EQ(error("copy/0"),
            InvalidArgument("line 1, column 7: version out of range, found the end"));
  EXPECT_EQ(error("copy/1 a=1 a=2"),
            InvalidArgument("line 1, column 13: knob 'a' appears twice, found '=2'"));
  EXPECT_EQ(error("copy/1 a=x"),
            InvalidArgument("line 1, column 10: expected an integer that fits 64 bits, found 'x'"));
  std::string many = "copy/1";
  for (int i = 0; i < 65; ++i) many += " k" + std::to_string(i) + "=1";
  EXPECT_EQ(error(many).code(), StatusCode::kInvalidArgument);
}

TEST(ConfigDeathTest, AMissingKnobIsABug) {
  const Config config{"copy", 1, {{"a", 1}}};
  EXPECT_DEATH(config["b"], "no knob 'b' in copy/1 a=1");
}

}  // namespace
}  // namespace mlc::schedule
