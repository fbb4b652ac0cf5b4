#include "base/html/axis.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <initializer_list>

namespace mlc::html {
namespace {

// The smallest of 1, 2 or 5 times a power of ten that is not below `value`.
double RoundedUp(double value) {
  const double power = std::pow(10, std::floor(std::log10(value)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    // A step that is a rounding error too small would make one tick too many.
    if (factor * power >= value * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

std::vector<double> Multiples(double step, double low, double high) {
  std::vector<double> ticks;
  const double first = std::ceil(low / step - 1e-6), last = std::floor(high / step + 1e-6);
  // Adding zero turns a negative zero into a positive one.
  const int count = static_cast<int>(last - first) + 1;
  for (int i = 0; i < count; ++i) ticks.push_back((first + i) * step + 0.0);
  return ticks;
}

std::vector<double> DecadeTicks(double low, double high, std::initializer_list<double> factors) {
  std::vector<double> ticks;
  const int first = static_cast<int>(std::floor(std::log10(low)));
  const int last = static_cast<int>(std::ceil(std::log10(high)));
  for (int decade = first; decade <= last; ++decade) {
    for (const double factor : factors) {
      const double tick = factor * std::pow(10, decade);
      if (tick >= low * (1 - 1e-9) && tick <= high * (1 + 1e-9)) ticks.push_back(tick);
    }
  }
  return ticks;
}

// Of powers of ten, every second, third ... one where there are too many.
std::vector<double> Sparse(const std::vector<double>& ticks, int most) {
  const size_t step = (ticks.size() + static_cast<size_t>(most) - 1) / static_cast<size_t>(most);
  std::vector<double> some;
  for (size_t i = 0; i < ticks.size(); i += step) some.push_back(ticks[i]);
  return some;
}

std::vector<double> LogTicks(double low, double high, int most) {
  const std::vector<double> decades = DecadeTicks(low, high, {1});
  if (static_cast<int>(decades.size()) > most) return Sparse(decades, most);
  std::vector<double> ticks = decades;
  for (const auto& factors : {std::initializer_list<double>{1, 2, 5},
                              {1, 1.5, 2, 3, 4, 5, 7},
                              {1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 4, 5, 6, 7, 8, 9}}) {
    std::vector<double> finer = DecadeTicks(low, high, factors);
    if (static_cast<int>(finer.size()) > most) break;
    ticks = std::move(finer);
  }
  if (ticks.size() >= 3) return ticks;
  std::vector<double> even = Multiples(RoundedUp((high - low) / (most - 1)), low, high);
  return even.size() > ticks.size() ? even : ticks;
}

}  // namespace

double Axis::At(double value) const {
  if (std::isnan(value)) return 0;
  const double at = is_log ? value <= 0 ? 0 : std::log(value / low) / std::log(high / low)
                           : (value - low) / (high - low);
  return std::clamp(at, 0.0, 1.0);
}

Axis LinearAxis(std::string title, double low, double high, int most) {
  if (!std::isfinite(low) || !std::isfinite(high) || low > high) low = 0, high = 1;
  if (high - low <= 1e-12 * std::max(std::abs(low), std::abs(high))) {
    const double more = high == 0 ? 1 : std::abs(high) / 2;
    (low >= 0 ? high : low) += low >= 0 ? more : -more;
  }
  double step = RoundedUp((high - low) / std::max(1, most - 1));
  // Widening to whole steps can add one at each end.
  while (std::ceil(high / step - 1e-6) - std::floor(low / step + 1e-6) > std::max(2, most - 1)) {
    step = RoundedUp(step * 1.5);
  }
  Axis axis{std::move(title),
            false,
            step * std::floor(low / step + 1e-6) + 0.0,
            step * std::ceil(high / step - 1e-6),
            {}};
  axis.ticks = Multiples(step, axis.low, axis.high);
  return axis;
}

Axis LogAxis(std::string title, double low, double high, int most) {
  if (!std::isfinite(low) || !std::isfinite(high) || low <= 0 || high < low) low = 1, high = 10;
  // A factor of 1.5 at the least: noise is not to look like a difference.
  const double middle = std::sqrt(low) * std::sqrt(high);
  if (high / low < 1.5) low = middle / std::sqrt(1.5), high = middle * std::sqrt(1.5);
  const double margin = std::pow(high / low, 0.06);
  Axis axis{std::move(title), true, low / margin, high * margin, {}};
  axis.ticks = LogTicks(axis.low, axis.high, most);
  return axis;
}

std::string TickText(double value) {
  static constexpr struct {
    double size;
    const char* suffix;
  } kLarge[] = {{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}};
  char buffer[64];
  for (const auto& [size, suffix] : kLarge) {
    if (std::abs(value) < (size == 1e3 ? 1e4 : size)) continue;
    std::snprintf(buffer, sizeof buffer, "%.4g%s", value / size, suffix);
    return buffer;
  }
  std::snprintf(buffer, sizeof buffer, "%.4g", value);
  return buffer;
}

}  // namespace mlc::html
