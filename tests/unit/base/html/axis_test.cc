#include "base/html/axis.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/html/number_text.h"

namespace mlc::html {
namespace {

// Ticks as they are shown: the last bits of a double are no concern of a reader.
std::string TicksOf(const Axis& axis) {
  std::string text;
  for (const double tick : axis.ticks) text += (text.empty() ? "" : " ") + TickText(tick);
  return text;
}

TEST(LinearAxis, HasRoundTicksThatEncloseTheRange) {
  EXPECT_EQ(TicksOf(LinearAxis("", 0, 240)), "0 50 100 150 200 250");
  EXPECT_EQ(TicksOf(LinearAxis("", 0, 1)), "0 0.2 0.4 0.6 0.8 1");
  EXPECT_EQ(TicksOf(LinearAxis("", 0.85, 0.99)), "0.85 0.9 0.95 1");
  EXPECT_EQ(TicksOf(LinearAxis("", -3, 7)), "-5 0 5 10");
  EXPECT_EQ(TicksOf(LinearAxis("", 0, 100'000)), "0 20k 40k 60k 80k 100k");
  const Axis axis = LinearAxis("", 3.2, 11);
  EXPECT_LE(axis.low, 3.2);
  EXPECT_GE(axis.high, 11);
}

TEST(LinearAxis, HasTicksForEveryRange) {
  const double inf = std::numeric_limits<double>::infinity();
  const double ranges[][2] = {{0, 0},       {5, 5},      {-2, -2},   {1e-9, 2e-9},
                              {1e12, 1e12}, {-inf, inf}, {-3, 7},    {NAN, 1},
                              {3, 1},       {0, 1e15},   {0.1, 0.3}, {99.999, 100.001}};
  for (const auto& [low, high] : ranges) {
    for (int most = 3; most <= 8; ++most) {
      const Axis axis = LinearAxis("", low, high, most);
      EXPECT_GE(axis.ticks.size(), 2u) << low << " to " << high;
      EXPECT_LE(axis.ticks.size(), static_cast<size_t>(most)) << low << " to " << high;
      EXPECT_LT(axis.low, axis.high);
    }
  }
}

TEST(LogAxis, HasFewerTicksThanAskedAndMoreWhereTheRangeIsSmall) {
  EXPECT_EQ(TicksOf(LogAxis("", 1, 1e6)), "1 10 100 1000 10k 100k 1M");
  EXPECT_EQ(TicksOf(LogAxis("", 1, 50)), "1 2 5 10 20 50");
  EXPECT_EQ(TicksOf(LogAxis("", 4, 9)), "4 5 6 7 8 9");
  for (const double high : {1.01, 2.0, 7.0, 40.0, 1e3, 1e9, 1e30}) {
    const Axis axis = LogAxis("", 1, high, 6);
    EXPECT_GE(axis.ticks.size(), 2u) << high;
    EXPECT_LE(axis.ticks.size(), 6u) << high;
    for (const double tick : axis.ticks) EXPECT_TRUE(tick >= axis.low && tick <= axis.high);
  }
}

TEST(LogAxis, TakesARangeThatHasNoLogarithm) {
  for (const double low : {0.0, -1.0, std::nan("")}) {
    const Axis axis = LogAxis("", low, 5);
    EXPECT_GT(axis.low, 0);
    EXPECT_GE(axis.ticks.size(), 2u);
  }
}

TEST(Axis, PlacesValuesAndKeepsThoseOutsideAtItsEnds) {
  const Axis linear = LinearAxis("", 0, 10);
  EXPECT_DOUBLE_EQ(linear.At(2.5), 0.25);
  EXPECT_DOUBLE_EQ(linear.At(-1), 0);
  EXPECT_DOUBLE_EQ(linear.At(1e9), 1);
  EXPECT_DOUBLE_EQ(linear.At(std::nan("")), 0);
  const Axis log{"", true, 1, 100, {}};
  EXPECT_DOUBLE_EQ(log.At(10), 0.5);
  EXPECT_DOUBLE_EQ(log.At(0), 0);
}

TEST(NumberText, HasThreeDigitsAndAUnit) {
  EXPECT_EQ(NumberText(0), "0");
  EXPECT_EQ(NumberText(1.23456), "1.23");
  EXPECT_EQ(NumberText(123456), "123456");
  EXPECT_EQ(NumberText(0.00123), "0.00123");
  EXPECT_EQ(NumberText(1e-7), "1e-07");
  EXPECT_EQ(NumberText(std::nan("")), "-");
  EXPECT_EQ(DurationText(360), "360 ns");
  EXPECT_EQ(DurationText(4063), "4.06 µs");
  EXPECT_EQ(DurationText(12.5e6), "12.5 ms");
  EXPECT_EQ(DurationText(2e9), "2.00 s");
  EXPECT_EQ(ByteText(1536), "1.50 KiB");
  EXPECT_EQ(PercentText(0.1234), "12.3 %");
  EXPECT_EQ(ClockText(1'700'000'000'000'000), "2023-11-14 22:13:20 UTC");
  EXPECT_EQ(ClockText(0), "");
}

TEST(NumberText, KeepsTheExactValueForPrograms) {
  EXPECT_EQ(Time(4063.25).html(), "<data value=\"4063.25\">4.06 µs</data>");
}

TEST(NumberText, ShortensBetweenCharacters) {
  EXPECT_EQ(Shortened("abc", 3), "abc");
  EXPECT_EQ(Shortened("äöüß", 2), "äö…");
}

}  // namespace
}  // namespace mlc::html
