#include "base/html/svg.h"

#include <cstdio>

namespace mlc::html {

std::string Px(double value) {
  char buffer[40];
  std::snprintf(buffer, sizeof buffer, "%.1f", value);
  std::string text = buffer;
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text;
}

Markup Legend(const std::vector<LegendEntry>& entries) {
  Markup items;
  for (const LegendEntry& entry : entries) {
    if (entry.name.empty()) continue;
    const Markup swatch =
        Markup::Trusted("<svg viewBox=\"0 0 20 12\" aria-hidden=\"true\"><path class=\"" +
                        entry.style + "\" d=\"" + entry.path + "\"/></svg>");
    items += Element("li", swatch + Element("span", entry.name));
  }
  return items.empty() ? items : Element("ul", items, {{"class", "legend"}});
}

Markup Figure(const std::string& title, const std::string& note, const std::string& description,
              double width, double height, const std::string& drawing, const Markup& legend) {
  Markup caption = title;
  if (!note.empty()) caption += Element("span", note);
  const std::string svg = "<svg viewBox=\"0 0 " + Px(width) + " " + Px(height) +
                          "\" role=\"img\">" + Element("title", title).html() +
                          Element("desc", description).html() + drawing + "</svg>";
  return Element("figure", Element("figcaption", caption) + Markup::Trusted(svg) + legend) +
         Markup::Trusted("\n");
}

}  // namespace mlc::html
