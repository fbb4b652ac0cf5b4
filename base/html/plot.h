// Charts with two axes as inline SVG: 360 units wide, so that text is as large on a phone as
// beside it, with a title and a description for screen readers. A page that shows a chart also has
// a table of what matters in it. Pure; thread-safe.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/html/axis.h"
#include "base/html/markup.h"

namespace mlc::html {

struct Point {
  double x = 0;
  double y = 0;
  friend bool operator==(const Point&, const Point&) = default;
};

enum class Mark {
  kLine,
  kSteps,  // stays at a value until the next point
  kDashes,
  kDots,
  kBigDots,
  kCrosses,
  kColumns,  // bars from the bottom, `Series::width` wide
};

struct Series {
  std::string name;  // in the legend; none if empty
  int color = 0;     // 0 .. kSeriesColors - 1
  Mark mark = Mark::kDots;
  std::vector<Point> points;
  double width = 0;  // of columns, in units of the x axis; to the right of the point
};

// Text beside a point.
struct Label {
  Point at;
  std::string text;
};

struct Plot {
  std::string title;
  std::string note;         // below the title; may be empty
  std::string description;  // what the chart shows, for screen readers
  Axis x;
  Axis y;
  std::vector<Series> series;  // later ones cover earlier ones
  std::vector<Label> labels = {};
  double height = 220;
};

// A figure with title, chart and legend. REQUIRES: colours in range.
Markup PlotFigure(const Plot& plot);

// Selects about `most` of the points, in their order. Of each stretch it keeps the first, the last,
// the lowest and the highest one, so no extreme of y is lost. REQUIRES: most >= 4.
std::vector<Point> Thinned(std::span<const Point> points, size_t most);

}  // namespace mlc::html
