#include "base/html/markup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/html/bars.h"
#include "base/html/style.h"

namespace mlc::html {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Markup, TextCannotEndAnElementOrAnAttribute) {
  EXPECT_EQ(Markup("<script>&\"'").html(), "&lt;script&gt;&amp;&quot;&#39;");
  EXPECT_EQ(Element("a", "<b>", {{"href", "\"><script>"}}).html(),
            "<a href=\"&quot;&gt;&lt;script&gt;\">&lt;b&gt;</a>");
}

TEST(Markup, WhatIsNotShownIsReplaced) {
  const std::string replaced = "\xef\xbf\xbd";
  EXPECT_EQ(Markup(std::string("a\0b", 3)).html(), "a" + replaced + "b");
  EXPECT_EQ(Markup("\x1b[2J\r").html(), replaced + "[2J" + replaced);
  EXPECT_EQ(Markup("\xe2\x80\xae").html(), replaced) << "a change of direction";
  EXPECT_EQ(Markup("\xef\xbf\xbf").html(), replaced) << "no character";
  EXPECT_EQ(Markup("a\tb\nc").html(), "a\tb\nc");
}

TEST(Markup, BrokenUtf8IsReplacedByteByByte) {
  const std::string r = "\xef\xbf\xbd";
  EXPECT_EQ(Markup("\xff").html(), r);
  EXPECT_EQ(Markup("\xc0\xaf").html(), r + r) << "an overlong slash";
  EXPECT_EQ(Markup("\xed\xa0\x80").html(), r + r + r) << "half of a surrogate";
  EXPECT_EQ(Markup("\xf4\x90\x80\x80").html(), r + r + r + r) << "beyond Unicode";
  EXPECT_EQ(Markup("\xe2\x82").html(), r + r) << "cut off";
  EXPECT_EQ(Markup("µ × 漢 😀").html(), "µ × 漢 😀");
}

TEST(Markup, APageForbidsItselfScriptsAndTheNetwork) {
  const std::string page = PageText("<t>", Paragraph("x"));
  EXPECT_THAT(page, HasSubstr("<title>&lt;t&gt;</title>"));
  EXPECT_THAT(page, HasSubstr("content=\"default-src 'none'; style-src 'unsafe-inline'"));
  EXPECT_THAT(page, HasSubstr("prefers-color-scheme: dark"));
  for (const char* outside : {"http:", "https:", "url(", "@import", "<script", "src="}) {
    EXPECT_THAT(page, Not(HasSubstr(outside)));
  }
}

TEST(Markup, TheStyleHasNothingThatEndsIt) {
  EXPECT_EQ(PageStyle().find_first_of("<&"), std::string_view::npos);
  for (int color = 0; color < kSeriesColors; ++color) {
    EXPECT_THAT(std::string(PageStyle()), HasSubstr(".c" + std::to_string(color) + " "));
    EXPECT_THAT(std::string(PageStyle()), HasSubstr(".f" + std::to_string(color) + " "));
  }
}

TEST(BarFigure, BarsAreAsLongAsTheirValues) {
  BarChart chart;
  chart.series = {"one"};
  chart.colors = {0};
  chart.bars = {{"<a>", {4}, {"4"}}, {"b", {1}, {"1"}}, {"none", {0}, {"0"}}};
  const std::string html = BarFigure(chart).html();
  EXPECT_THAT(html, HasSubstr("&lt;a&gt;"));
  EXPECT_THAT(html, HasSubstr("width=\"294\""));
  EXPECT_THAT(html, HasSubstr("width=\"73.5\""));
  EXPECT_THAT(html, HasSubstr("width=\"0\""));
}

}  // namespace
}  // namespace mlc::html
