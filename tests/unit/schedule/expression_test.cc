#include "compiler/schedule/kernel_spec/expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.h"

namespace mlc::schedule {
namespace {

using ::testing::HasSubstr;

const std::vector<std::string> kNames = {"a", "b", "word", "size"};

std::vector<ExpressionValue> Values() {
  return {int64_t{6}, int64_t{4}, std::string("row"),
          ExpressionValue::List{int64_t{100}, int64_t{7}}};
}

std::string Of(const std::string& text) {
  const Result<Expression> expression = Expression::Parse(text, kNames);
  if (!expression.ok()) return expression.status().message();
  const Result<ExpressionValue> value = expression->Evaluate(Values());
  return value.ok() ? value->ToText() : value.status().message();
}

TEST(Expression, ComputesWhatPythonDoes) {
  const std::pair<const char*, const char*> kCases[] = {
      {"a * b <= 24", "1"},
      {"a * b <= 23", "0"},
      {"1 + 2 * 3", "7"},
      {"(1 + 2) * 3", "9"},
      {"-7 // 2", "-4"},
      {"-7 % 3", "2"},
      {"7 % -3", "-2"},
      {"7 / 2", "3.5"},
      {"2 ** 10", "1024"},
      {"-2 ** 2", "-4"},
      {"2 ** 3 ** 2", "512"},
      {"2 ** -1", "0.5"},
      {"1 < a < 10", "1"},
      {"1 < a > 10", "0"},
      {"1 == 1.0", "1"},
      {"a in [2, 4, 6]", "1"},
      {"a not in (2, 6)", "0"},
      {"word == 'row' and not a == 5", "1"},
      {"not not a", "1"},
      {"0 or 5", "5"},
      {"a and 0", "0"},
      {"a if b > 5 else b", "4"},
      {"size[1] + size[-2]", "107"},
      {"min(a, b) + max([1, 9]) + abs(-3)", "16"},
      {"ceil(size[0] / (a * b))", "5"},
      {"int(3.9) + round(2.5) + floor(-0.5) + len(size)", "6"},
      {"range(1, 8, 3)", "[1, 4, 7]"},
      {"list(range(3))", "[0, 1, 2]"},
      {"[16 * i for i in range(1, 4)]", "[16, 32, 48]"},
      {"[2**i for i in range(5) if i % 2 == 0]", "[1, 4, 16]"},
      {"0x10 + 1e2", "116.0"},
      {"True + False", "1"},
      {"'a' < 'b'", "1"},
  };
  for (const auto& [text, expected] : kCases) {
    EXPECT_EQ(Of(text), expected) << text;
  }
}

TEST(Expression, ErrorsNameTheColumnAndWhatToWrite) {
  const std::pair<const char*, const char*> kCases[] = {
      {"a +", "column 4"},
      {"a + c", "column 5 of 'a + c': the name 'c' is not known"},
      {"a && b", "column 3 of 'a && b': '&&' is written 'and'"},
      {"!a", "'!' is written 'not'"},
      {"a // 0", "column 3 of 'a // 0': a division by zero"},
      {"9223372036854775807 + 1", "beyond 64 bits"},
      {"99999999999999999999", "beyond 64 bits"},
      {"10 ** 40", "beyond 64 bits"},
      {"word * 2", "arithmetic needs numbers"},
      {"word < 1", "no order"},
      {"size[2]", "no such element"},
      {"open('x')", "functions are min"},
      {"a.b", "column 2"},
      {"__import__('os')", "not known"},
      {"(a", "expected"},
      {"a b", "an operator or the end"},
      {"1 if 2", "expected 'else'"},
      {"'x", "the string has no end"},
      {"min()", "min and max need numbers"},
      {"range(1000000)", "4096"},
      {"[i for i in 5]", "'for' needs a list"},
      {"", "column 1"},
  };
  for (const auto& [text, expected] : kCases) EXPECT_THAT(Of(text), HasSubstr(expected)) << text;
}

TEST(Expression, WhatItMayCostIsLimited) {
  const std::string deep = std::string(3000, '(') + "1";
  EXPECT_THAT(Of(deep), HasSubstr("nested too deeply"));
  EXPECT_THAT(Of(std::string(3000, '-') + "1"), HasSubstr("nested too deeply"));
  EXPECT_THAT(Of(std::string(5000, ' ') + "1"), HasSubstr("4096 characters"));
  std::string sum = "1";
  for (int i = 0; i < 1000; ++i) sum += "+1";
  EXPECT_THAT(Of(sum), HasSubstr("256 operators"));
  EXPECT_THAT(Of("[[[i for i in range(4000)] for j in range(4000)] for k in range(4000)]"),
              HasSubstr("too many steps"));
  EXPECT_EQ(Of("1 ** 9223372036854775807"), "1");
}

// Whatever the text: an error with words, or a value; and what is printed as a value reads back.
TEST(Expression, AnyTextIsRefusedOrEvaluated) {
  constexpr const char* kParts[] = {
      "a",   "b",   "word", "size", "1",   "2.5",   "'x'", "(",  ")",  "[",  "]",  ",",
      "+",   "-",   "*",    "//",   "%",   "**",    "<",   "<=", "==", "in", "if", "or",
      "and", "not", "else", "for",  "min", "range", "len", " ",  "i",  "&",  "0"};
  Rng rng(7);
  int evaluated = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    const uint64_t parts = 1 + rng.Below(12);
    for (uint64_t i = 0; i < parts; ++i)
      text += std::string(kParts[rng.Below(std::size(kParts))]) + " ";
    const Result<Expression> expression = Expression::Parse(text, kNames);
    if (!expression.ok()) {
      EXPECT_FALSE(expression.status().message().empty());
      continue;
    }
    const Result<ExpressionValue> value = expression->Evaluate(Values());
    if (!value.ok()) continue;
    ++evaluated;
    const Result<Expression> printed = Expression::Parse(value->ToText(), {});
    ASSERT_TRUE(printed.ok()) << text << ": " << value->ToText();
    EXPECT_EQ(printed->Evaluate({})->ToText(), value->ToText()) << text;
  }
  EXPECT_GT(evaluated, 100);
}

}  // namespace
}  // namespace mlc::schedule
