// Shared parts of the charts: numbers of SVG and the legend below a chart. Pure; thread-safe.
#pragma once

#include <string>
#include <vector>

#include "base/html/markup.h"

namespace mlc::html {

// With one decimal, which is a fraction of what a screen shows.
std::string Px(double value);

struct LegendEntry {
  std::string name;   // none is shown if it is empty
  std::string style;  // classes of the swatch
  std::string path;   // of the swatch, in a box of 20 by 12
};
inline constexpr char kSquare[] = "M5 1H15V11H5z";
Markup Legend(const std::vector<LegendEntry>& entries);

// <figure> of a title, a note if there is one, the drawing of `width` by `height`, and a legend.
Markup Figure(const std::string& title, const std::string& note, const std::string& description,
              double width, double height, const std::string& drawing, const Markup& legend);

}  // namespace mlc::html
