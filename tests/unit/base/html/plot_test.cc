#include "base/html/plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace mlc::html {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

Plot SmallPlot() {
  Plot plot;
  plot.title = "A <title>";
  plot.description = "What & why";
  plot.x = LinearAxis("x (s)", 0, 10);
  plot.y = LinearAxis("y (µs)", 0, 10);
  return plot;
}

TEST(PlotFigure, SaysWhatItShowsToThoseWhoCannotSeeIt) {
  const std::string html = PlotFigure(SmallPlot()).html();
  EXPECT_THAT(html, HasSubstr("role=\"img\"><title>A &lt;title&gt;</title>"
                              "<desc>What &amp; why</desc>"));
  EXPECT_THAT(html, HasSubstr(">x (s)</text>"));
  EXPECT_THAT(html, HasSubstr(">y (µs)</text>"));
}

TEST(PlotFigure, DrawsPointsWhereTheAxesSay) {
  Plot plot = SmallPlot();
  plot.series = {{"line", 2, Mark::kLine, {{0, 0}, {10, 10}}},
                 {"steps", 3, Mark::kSteps, {{0, 10}, {5, 5}}},
                 {"dots", 4, Mark::kDots, {{5, 10}}}};
  const std::string html = PlotFigure(plot).html();
  EXPECT_THAT(html, HasSubstr("class=\"line c2\" d=\"M40 184L340 22\""));
  EXPECT_THAT(html, HasSubstr("class=\"line c3\" d=\"M40 22H190V103\""));
  EXPECT_THAT(html, HasSubstr("class=\"dots c4\" d=\"M190 22h0\""));
}

TEST(PlotFigure, LeavesOutWhatIsNoNumber) {
  Plot plot = SmallPlot();
  plot.series = {{"s", 0, Mark::kDots, {{std::nan(""), 1}, {1, std::nan("")}}}};
  EXPECT_EQ(PlotFigure(plot).html().find("nan"), std::string::npos);
}

TEST(PlotFigure, LabelsOfPointsAtOnePlaceDoNotCoverEachOther) {
  Plot plot = SmallPlot();
  plot.labels = {{{5, 5}, "1"}, {{5, 5}, "2"}, {{5, 5}, "3"}};
  const std::string html = PlotFigure(plot).html();
  std::vector<std::string> places;
  for (const char* label : {">1</text>", ">2</text>", ">3</text>"}) {
    const size_t end = html.find(label);
    const size_t begin = html.rfind("<text", end);
    ASSERT_NE(begin, std::string::npos);
    const std::string place = html.substr(begin, end - begin);
    EXPECT_THAT(places, ::testing::Not(Contains(place)));
    places.push_back(place);
  }
}

TEST(Thinned, KeepsAFewPointsAsTheyAre) {
  const std::vector<Point> points = {{1, 5}, {2, 3}, {3, 9}};
  EXPECT_EQ(Thinned(points, 4), points);
}

TEST(Thinned, KeepsEveryExtremeAndTheEnds) {
  std::vector<Point> points;
  for (int i = 0; i < 100'000; ++i) points.push_back({static_cast<double>(i), std::sin(i)});
  points[31'415].y = 7;
  points[27'182].y = -7;
  const std::vector<Point> thin = Thinned(points, 400);
  EXPECT_LE(thin.size(), 400u);
  EXPECT_THAT(thin, Contains(Point{31'415, 7}));
  EXPECT_THAT(thin, Contains(Point{27'182, -7}));
  EXPECT_EQ(thin.front(), points.front());
  EXPECT_EQ(thin.back(), points.back());
  EXPECT_TRUE(std::is_sorted(thin.begin(), thin.end(),
                             [](const Point& a, const Point& b) { return a.x < b.x; }));
}

}  // namespace
}  // namespace mlc::html
