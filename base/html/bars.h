// Horizontal bars with their names above them, and rows of segments, as inline SVG. See plot.h.
// Pure; thread-safe.
#pragma once

#include <string>
#include <vector>

#include "base/html/markup.h"

namespace mlc::html {

struct Bar {
  std::string name;
  std::vector<double> values;      // one of each series; 0 or more
  std::vector<std::string> texts;  // parallel: the value as text, at the bar's end
};
struct BarChart {
  std::string title;
  std::string note;
  std::string description;
  std::vector<std::string>
      series;               // names, for the legend; without one if there is only one series
  std::vector<int> colors;  // parallel to `series`
  std::vector<Bar> bars;
};
// REQUIRES: as many values, texts and colours as series.
Markup BarFigure(const BarChart& chart);

}  // namespace mlc::html
