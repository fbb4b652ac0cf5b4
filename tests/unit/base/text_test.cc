#include "base/text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace mlc {
namespace {

TEST(Lexer, ReadsTokensAndSkipsComments) {
  Lexer lexer("kernel k1 # the rest is ignored\n [1,-2] 3.5");
  EXPECT_TRUE(lexer.Accept("kernel"));
  EXPECT_EQ(*lexer.Word(), "k1");
  EXPECT_EQ(*lexer.IntList(), (std::vector<int64_t>{1, -2}));
  EXPECT_EQ(*lexer.Float(), 3.5);
  EXPECT_TRUE(lexer.AtEnd());
}

TEST(Lexer, AWordTokenIsNotAPrefixOfALongerWord) {
  Lexer lexer("format");
  EXPECT_FALSE(lexer.Accept("for"));
  EXPECT_TRUE(lexer.Accept("format"));
}

TEST(Lexer, ErrorsNameLineAndColumn) {
  Lexer lexer("a\n  b");
  ASSERT_TRUE(lexer.Accept("a"));
  EXPECT_EQ(lexer.Expect("c").message(), "line 2, column 3: expected 'c', found 'b'");
  ASSERT_TRUE(lexer.Accept("b"));
  EXPECT_EQ(lexer.Expect("c").message(), "line 2, column 4: expected 'c', found the end");
}

TEST(Lexer, AnotherVersionIsRefusedWithBoth) {
  const auto status = [](const char* text) { return Lexer(text).Version(2); };
  EXPECT_TRUE(status("v2 {}").ok());
  EXPECT_EQ(status(" v3 {}"),
            FailedPrecondition("line 1, column 2: the text is of version 3, this program reads "
                               "version 2: use a program of the release that wrote it"));
  EXPECT_EQ(status("v1").code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(status("v20").code(), StatusCode::kFailedPrecondition);
  for (const char* none : {"", "v", "vx", "v-1", "2", "w2", "v99999999999999999999"}) {
    EXPECT_EQ(status(none).code(), StatusCode::kInvalidArgument) << none;
  }
}

TEST(Lexer, RefusesIntegersThatDoNotFit) {
  Lexer lexer("99999999999999999999");
  EXPECT_FALSE(lexer.Int().ok());
}

TEST(FloatText, IsShortAndReadsBackExactly) {
  EXPECT_EQ(FloatToText(1), "1.0");
  EXPECT_EQ(FloatToText(0.1), "0.1");
  for (const double value : {1e-300, -3.4028235e38, 0.044715, std::numeric_limits<double>::min()}) {
    const std::string text = FloatToText(value);
    Lexer lexer(text);
    EXPECT_EQ(*lexer.Float(), value);
  }
  const std::string infinity = FloatToText(-INFINITY);
  Lexer lexer(infinity);
  EXPECT_EQ(*lexer.Float(), -INFINITY);
}

}  // namespace
}  // namespace mlc
