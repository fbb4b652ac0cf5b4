#include "base/html/number_text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>

#include "base/text.h"

namespace mlc::html {
namespace {

std::string Fixed(double value, int decimals) {
  char buffer[400];
  std::snprintf(buffer, sizeof buffer, "%.*f", decimals, value);
  return buffer;
}

}  // namespace

Unit TimeUnit(double largest_ns) {
  if (largest_ns < 1e3) return {1, "ns"};
  if (largest_ns < 1e6) return {1e3, "µs"};
  if (largest_ns < 1e9) return {1e6, "ms"};
  return {1e9, "s"};
}

std::string NumberText(double value, int digits) {
  if (!std::isfinite(value)) return std::isnan(value) ? "-" : value > 0 ? "∞" : "-∞";
  if (value == 0) return "0";
  const double size = std::abs(value);
  if (size < 1e-4 || size >= 1e15) {
    char buffer[40];
    std::snprintf(buffer, sizeof buffer, "%.*g", digits, value);
    return buffer;
  }
  const int decimals = digits - 1 - static_cast<int>(std::floor(std::log10(size)));
  return Fixed(value, std::clamp(decimals, 0, 8));
}

std::string DurationText(double ns) {
  const Unit unit = TimeUnit(std::abs(ns));
  return NumberText(ns / unit.size) + " " + unit.name;
}

std::string ByteText(double bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  while (std::abs(bytes) >= 1024 && unit + 1 < std::size(kUnits)) {
    bytes /= 1024;
    ++unit;
  }
  return NumberText(bytes) + " " + kUnits[unit];
}

std::string PercentText(double share) {
  if (!std::isfinite(share)) return "-";
  return Fixed(100 * share, 1) + " %";
}

std::string ClockText(int64_t unix_us) {
  if (unix_us == 0) return std::string();
  const std::time_t seconds = static_cast<std::time_t>(unix_us / 1'000'000);
  std::tm parts{};
  if (gmtime_r(&seconds, &parts) == nullptr) return std::string();
  char buffer[64];
  const size_t length = std::strftime(buffer, sizeof buffer, "%Y-%m-%d %H:%M:%S UTC", &parts);
  return std::string(buffer, length);
}

std::string Shortened(const std::string& text, size_t most) {
  size_t characters = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool continues = (static_cast<unsigned char>(text[i]) & 0xc0) == 0x80;
    if (!continues && ++characters > most) return text.substr(0, i) + "…";
  }
  return text;
}

Markup Time(double ns) { return Element("data", DurationText(ns), {{"value", FloatToText(ns)}}); }

Markup Number(double value) {
  const bool whole = value == std::floor(value) && std::abs(value) < 1e15;
  return Element("data", whole ? Fixed(value, 0) : NumberText(value),
                 {{"value", FloatToText(value)}});
}

}  // namespace mlc::html
