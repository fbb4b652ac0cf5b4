#include "base/html/timeline.h"

#include <algorithm>

#include "base/html/number_text.h"
#include "base/html/svg.h"

namespace mlc::html {
namespace {

constexpr double kWidth = 360, kRowHeight = 34, kBarHeight = 18;

std::string Rect(int row, double begin, double end, int color) {
  return "<rect class=\"bar f" + std::to_string(color) + "\" x=\"" + Px(begin * kWidth) +
         "\" y=\"" + Px(row * kRowHeight + 13) + "\" width=\"" +
         Px(std::max(0.4, (end - begin) * kWidth - 0.6)) + "\" height=\"" + Px(kBarHeight) + "\"/>";
}

}  // namespace

Markup TimelineFigure(const Timeline& timeline) {
  double total = 0;
  for (const Segment& segment : timeline.segments) total += segment.length;
  if (!(total > 0)) return {};
  const int rows = std::max(1, timeline.rows);
  const double of_row = total / rows;
  std::string svg;
  for (int row = 0; row < rows; ++row) {
    svg += "<text x=\"0\" y=\"" + Px(row * kRowHeight + 10) + "\">" + NumberText(row * of_row) +
           " " + Markup(timeline.unit).html() + "</text>";
  }
  double at = 0;
  for (const Segment& segment : timeline.segments) {
    const double begin = at, end = at += segment.length;
    svg += "<g>" + Element("title", segment.name).html();
    for (int row = static_cast<int>(begin / of_row); row < rows; ++row) {
      const double left = std::max(begin / of_row - row, 0.0);
      const double right = std::min(end / of_row - row, 1.0);
      if (right <= left) break;
      svg += Rect(row, left, right, segment.color);
    }
    svg += "</g>\n";
  }
  std::vector<LegendEntry> entries;
  for (const auto& [name, color] : timeline.legend) {
    entries.push_back({name, "bar f" + std::to_string(color), kSquare});
  }
  return Figure(timeline.title, timeline.note, timeline.description, kWidth, rows * kRowHeight, svg,
                Legend(entries));
}

}  // namespace mlc::html
