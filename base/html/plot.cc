#include "base/html/plot.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/html/svg.h"

namespace mlc::html {
namespace {

constexpr double kWidth = 360, kLeft = 40, kRight = 20, kTop = 22, kBottom = 36;

class Canvas {
 public:
  explicit Canvas(const Plot& plot) : plot_(plot) {}

  double X(double value) const { return kLeft + plot_.x.At(value) * (kWidth - kLeft - kRight); }
  double Y(double value) const { return Bottom() - plot_.y.At(value) * (Bottom() - kTop); }
  double Bottom() const { return plot_.height - kBottom; }

 private:
  const Plot& plot_;
};

std::string Text(double x, double y, const char* anchor, const char* style,
                 const std::string& text) {
  return "<text x=\"" + Px(x) + "\" y=\"" + Px(y) + "\" text-anchor=\"" + anchor + "\" class=\"" +
         style + "\">" + Markup(text).html() + "</text>";
}

std::string Axes(const Plot& plot, const Canvas& canvas) {
  std::string lines, words;
  for (const double tick : plot.y.ticks) {
    const double y = canvas.Y(tick);
    lines += "M" + Px(kLeft) + " " + Px(y) + "H" + Px(kWidth - kRight);
    words += Text(kLeft - 5, y + 4, "end", "tick", TickText(tick));
  }
  for (const double tick : plot.x.ticks) {
    const double x = canvas.X(tick);
    lines += "M" + Px(x) + " " + Px(kTop) + "V" + Px(canvas.Bottom());
    words += Text(x, canvas.Bottom() + 14, "middle", "tick", TickText(tick));
  }
  words += Text(0, 12, "start", "title", plot.y.title);
  words += Text(kWidth - kRight, plot.height - 5, "end", "title", plot.x.title);
  return "<path class=\"grid-line\" d=\"" + lines + "\"/><path class=\"axis\" d=\"M" + Px(kLeft) +
         " " + Px(canvas.Bottom()) + "H" + Px(kWidth - kRight) + "\"/>" + words + "\n";
}

std::string PathOf(const Series& series, const Canvas& canvas) {
  std::string path;
  for (const Point& point : series.points) {
    if (std::isnan(point.x) || std::isnan(point.y)) continue;
    const double x = canvas.X(point.x), y = canvas.Y(point.y);
    switch (series.mark) {
      case Mark::kLine:
      case Mark::kDashes:
        path += (path.empty() ? "M" : "L") + Px(x) + " " + Px(y);
        break;
      case Mark::kSteps:
        path += path.empty() ? "M" + Px(x) + " " + Px(y) : "H" + Px(x) + "V" + Px(y);
        break;
      case Mark::kDots:
      case Mark::kBigDots:
        // A line of no length with round ends: a third of the bytes of a circle.
        path += "M" + Px(x) + " " + Px(y) + "h0";
        break;
      case Mark::kCrosses:
        path += "M" + Px(x - 3) + " " + Px(y - 3) + "l6 6m0-6l-6 6";
        break;
      case Mark::kColumns:
        path += "M" + Px(x + 0.5) + " " + Px(canvas.Bottom()) + "V" + Px(y) + "H" +
                Px(std::max(x + 1.5, canvas.X(point.x + series.width) - 0.5)) + "V" +
                Px(canvas.Bottom()) + "z";
        break;
    }
  }
  return path;
}

std::string ClassOf(const Series& series) {
  static constexpr std::array<const char*, 7> kStyles = {"line", "line",    "dashed", "dots",
                                                         "big",  "crosses", "bar"};
  const bool filled = series.mark == Mark::kColumns;
  return std::string(kStyles[static_cast<size_t>(series.mark)]) + (filled ? " f" : " c") +
         std::to_string(series.color);
}

std::string SwatchPath(Mark mark) {
  switch (mark) {
    case Mark::kLine:
    case Mark::kSteps:
    case Mark::kDashes:
      return "M0 6H20";
    case Mark::kDots:
    case Mark::kBigDots:
      return "M10 6h0";
    case Mark::kCrosses:
      return "M7 3l6 6m0-6l-6 6";
    case Mark::kColumns:
      return kSquare;
  }
  return "";
}

Markup LegendOf(const std::vector<Series>& all) {
  std::vector<LegendEntry> entries;
  for (const Series& series : all) {
    entries.push_back({series.name, ClassOf(series), SwatchPath(series.mark)});
  }
  return Legend(entries);
}

struct Box {
  double left, top, right, bottom;
  bool Meets(const Box& other) const {
    return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
  }
};

// Beside the point, or at another side of it if something is there. Each covers its own point, so
// that no label lies on another one's.
std::string Labels(const Plot& plot, const Canvas& canvas) {
  constexpr double kAway = 6, kCharacter = 6.5, kLine = 12;
  std::vector<Box> taken;
  for (const Label& label : plot.labels) {
    const double x = canvas.X(label.at.x), y = canvas.Y(label.at.y);
    taken.push_back({x - 4, y - 4, x + 4, y + 4});
  }
  std::string words;
  for (const Label& label : plot.labels) {
    const double x = canvas.X(label.at.x), y = canvas.Y(label.at.y);
    const double width = kCharacter * static_cast<double>(label.text.size());
    const std::array<Point, 6> places = {{{x + kAway, y - kLine / 2},
                                          {x - kAway - width, y - kLine / 2},
                                          {x - width / 2, y - kAway - kLine},
                                          {x - width / 2, y + kAway},
                                          {x + kAway, y - kAway - kLine},
                                          {x + kAway, y + kAway}}};
    Point place = places[0];
    for (const Point& candidate : places) {
      const Box box = {candidate.x, candidate.y, candidate.x + width, candidate.y + kLine};
      const bool inside = box.left > kLeft && box.right < kWidth;
      const bool free = std::none_of(taken.begin(), taken.end(),
                                     [&](const Box& other) { return other.Meets(box); });
      if (!inside || !free) continue;
      place = candidate;
      break;
    }
    taken.push_back({place.x, place.y, place.x + width, place.y + kLine});
    words += Text(place.x, place.y + kLine - 2, "start", "label", label.text);
  }
  return words;
}

}  // namespace

Markup PlotFigure(const Plot& plot) {
  const Canvas canvas(plot);
  std::string drawing = Axes(plot, canvas);
  for (const Series& series : plot.series) {
    const std::string path = PathOf(series, canvas);
    if (path.empty()) continue;
    drawing += "<path class=\"" + ClassOf(series) + "\" d=\"" + path + "\"/>\n";
  }
  return Figure(plot.title, plot.note, plot.description, kWidth, plot.height,
                drawing + Labels(plot, canvas), LegendOf(plot.series));
}

std::vector<Point> Thinned(std::span<const Point> points, size_t most) {
  if (points.size() <= most) return {points.begin(), points.end()};
  const size_t stretches = std::max<size_t>(1, most / 4);
  std::vector<Point> kept;
  for (size_t s = 0; s < stretches; ++s) {
    const size_t begin = s * points.size() / stretches, end = (s + 1) * points.size() / stretches;
    size_t low = begin, high = begin;
    for (size_t i = begin; i < end; ++i) {
      if (points[i].y < points[low].y) low = i;
      if (points[i].y > points[high].y) high = i;
    }
    std::array<size_t, 4> all = {begin, low, high, end - 1};
    std::sort(all.begin(), all.end());
    for (size_t i = 0; i < all.size(); ++i) {
      if (i == 0 || all[i] != all[i - 1]) kept.push_back(points[all[i]]);
    }
  }
  return kept;
}

}  // namespace mlc::html
