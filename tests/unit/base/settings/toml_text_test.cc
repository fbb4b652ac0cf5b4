#include "base/settings/toml_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/settings/spelling.h"
#include "base/settings/toml_depth.h"
#include "base/settings/toml_json.h"

namespace mlc::settings {
namespace {

TEST(TomlTextTest, TextsAreQuotedAndEscaped) {
  EXPECT_EQ(TomlText(""), "\"\"");
  EXPECT_EQ(TomlText("a b"), "\"a b\"");
  EXPECT_EQ(TomlText("C:\\x\"y\""), "\"C:\\\\x\\\"y\\\"\"");
  EXPECT_EQ(TomlText("a\nb\x7F"), "\"a\\u000Ab\\u007F\"");
  EXPECT_EQ(TomlText("\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"),
            "\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\"");
}

TEST(TomlTextTest, WhatIsNoCharacterIsReplaced) {
  const std::string mark = "\xEF\xBF\xBD";
  EXPECT_EQ(TomlText("a\xFF"), "\"a" + mark + "\"");
  EXPECT_EQ(TomlText("\xC0\x80"), "\"" + mark + mark + "\"") << "longer than needed";
  EXPECT_EQ(TomlText("\xED\xA0\x80"), "\"" + mark + mark + mark + "\"") << "half of a pair";
  EXPECT_EQ(TomlText("\xE2\x82"), "\"" + mark + mark + "\"") << "cut off";
  EXPECT_EQ(TomlText("\xF4\x90\x80\x80"), "\"" + mark + mark + mark + mark + "\"");
}

TEST(TomlTextTest, ACommentIsOneLine) {
  EXPECT_EQ(CommentText("a\nserver = 'evil'\r\x1B[2J"), "a?server = 'evil'??[2J");
}

// `parts` parts of a key, divided by dots.
std::string Key(int parts, const std::string& part = "a") {
  std::string key = part;
  for (int i = 1; i < parts; ++i) key += " . " + part;
  return key;
}

TEST(TomlDepthTest, KeysOfManyPartsAreFound) {
  EXPECT_FALSE(HasDeepKey(Key(16) + " = 1\n" + Key(16) + "= 2"));
  EXPECT_TRUE(HasDeepKey(Key(17) + " = 1"));
  EXPECT_TRUE(HasDeepKey("[" + Key(17, "'x.='") + "]"));
  EXPECT_TRUE(HasDeepKey(R"(a = {b = "\"", )" + Key(17, R"("\"")") + " = 1}"));
  EXPECT_TRUE(HasDeepKey("a = \"\"\"x\ny\"\"\"\"\n" + Key(17) + " = 1"));
  EXPECT_THAT(JsonOfToml(Key(100'000) + " = 1").status().message(),
              testing::HasSubstr("a key has more than 16 parts"));
}

TEST(TomlDepthTest, DotsElsewhereDoNotCount) {
  const std::string dots(100, '.');
  for (const std::string& text :
       {"a = '" + dots + "' # " + dots, R"(a = "\")" + dots + "\"", "a = ''' '\n" + dots + "'''",
        R"(a = """\""")" + dots + "\n\"\"\"", "# it's " + dots}) {
    EXPECT_FALSE(HasDeepKey(text)) << text;
    EXPECT_TRUE(JsonOfToml(text).ok()) << text;
  }
  std::string numbers = "a = [1.5";
  for (int i = 0; i < 100; ++i) numbers += ", 1.5";
  EXPECT_FALSE(HasDeepKey(numbers + "]"));
}

TEST(SpellingTest, TheNearestNameIsGuessedIfItIsNear) {
  EXPECT_EQ(NearestOf("thread", {"log", "threads", "server"}), "threads");
  EXPECT_EQ(NearestOf("sevrer", {"log", "threads", "server"}), "server");
  EXPECT_EQ(NearestOf("banana", {"log", "threads", "server"}), "");
  EXPECT_EQ(NearestOf(std::string(1'000'000, 'x'), {"log"}), "") << "a key of a whole file";
}

}  // namespace
}  // namespace mlc::settings
