// A timeline as inline SVG: segments of time from left to right, wrapped into several rows like
// lines of text, so that short segments are visible. See plot.h. Pure; thread-safe.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/html/markup.h"

namespace mlc::html {

struct Segment {
  std::string name;  // shown when it is pointed at
  double length = 0;
  int color = 0;
};
struct Timeline {
  std::string title;
  std::string note;
  std::string description;
  std::string unit;  // of the lengths
  std::vector<Segment> segments;
  std::vector<std::pair<std::string, int>> legend = {};  // names of colours
  int rows = 6;                                          // at least one
};
Markup TimelineFigure(const Timeline& timeline);

}  // namespace mlc::html
