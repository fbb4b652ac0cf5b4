#include "base/html/bars.h"

#include <algorithm>
#include <cmath>

#include "base/html/number_text.h"
#include "base/html/svg.h"

namespace mlc::html {
namespace {

constexpr double kWidth = 360, kText = 66, kBarHeight = 11, kNameHeight = 17, kGap = 7;
constexpr size_t kMostCharacters = 52;

std::string OneBar(double y, double length, int color, const std::string& text) {
  return "<rect class=\"bar f" + std::to_string(color) + "\" x=\"0\" y=\"" + Px(y) + "\" width=\"" +
         Px(length) + "\" height=\"" + Px(kBarHeight - 1) + "\" rx=\"2\"/><text x=\"" +
         Px(length + 5) + "\" y=\"" + Px(y + kBarHeight - 2) + "\">" + Markup(text).html() +
         "</text>";
}

Markup LegendOf(const BarChart& chart) {
  if (chart.series.size() < 2) return {};
  std::vector<LegendEntry> entries;
  for (size_t i = 0; i < chart.series.size(); ++i) {
    entries.push_back({chart.series[i], "bar f" + std::to_string(chart.colors[i]), kSquare});
  }
  return Legend(entries);
}

}  // namespace

Markup BarFigure(const BarChart& chart) {
  double largest = 0;
  for (const Bar& bar : chart.bars) {
    for (const double value : bar.values) {
      if (std::isfinite(value)) largest = std::max(largest, value);
    }
  }
  const double row = kNameHeight + kBarHeight * static_cast<double>(chart.series.size()) + kGap;
  std::string svg;
  double y = 0;
  for (const Bar& bar : chart.bars) {
    svg += "<g>" + Element("title", bar.name).html() + "<text class=\"label\" x=\"0\" y=\"" +
           Px(y + 13) + "\">" + Markup(Shortened(bar.name, kMostCharacters)).html() + "</text>";
    for (size_t i = 0; i < bar.values.size(); ++i) {
      const double share = largest > 0 && bar.values[i] > 0 ? bar.values[i] / largest : 0;
      const double length = std::min(share, 1.0) * (kWidth - kText);
      svg += OneBar(y + kNameHeight + kBarHeight * static_cast<double>(i), length, chart.colors[i],
                    bar.texts[i]);
    }
    svg += "</g>\n";
    y += row;
  }
  return Figure(chart.title, chart.note, chart.description, kWidth, std::max(y, 1.0), svg,
                LegendOf(chart));
}

}  // namespace mlc::html
