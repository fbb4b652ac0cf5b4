// Numbers for display: three digits and a unit. On a page they also carry the exact value, for
// programs. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <string>

#include "base/html/markup.h"

namespace mlc::html {

// A unit to which all values of one axis are scaled.
struct Unit {
  double size = 1;
  std::string name;
};
// ns, µs, ms or s: the largest unit in which `largest_ns` is at least 1.
Unit TimeUnit(double largest_ns);

// At least `digits` significant digits, and no exponent between 1e-4 and 1e15.
std::string NumberText(double value, int digits = 3);
// "4.06 µs".
std::string DurationText(double ns);
// "1.5 KiB".
std::string ByteText(double bytes);
// "12.3 %" of 0.123.
std::string PercentText(double share);
// "2026-11-25 07:10:26 UTC"; empty for 0.
std::string ClockText(int64_t unix_us);
// The first characters of UTF-8 text, and an ellipsis if there are more than `most`.
std::string Shortened(const std::string& text, size_t most);

// <data value="4063.25">4.06 µs</data>: the value in ns, as exactly as the log has it.
Markup Time(double ns);
Markup Number(double value);

}  // namespace mlc::html
