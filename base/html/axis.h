// An axis of a chart: its range, widened to round numbers, its ticks, and where a value lies on it.
// Linear or logarithmic. Pure; thread-safe.
#pragma once

#include <string>
#include <vector>

namespace mlc::html {

struct Axis {
  std::string title;  // with the unit in brackets
  bool is_log = false;
  double low = 0;
  double high = 1;
  std::vector<double> ticks;  // ascending, within [low, high]

  // The position of a value: 0 at `low`, 1 at `high`. A value outside, and NaN, is set to the
  // nearer end.
  double At(double value) const;
};

// Both widen an empty range and replace one that is not finite.
//
// Ticks at 1, 2 or 5 times a power of ten, at most `most` of them and at least two; the range ends
// at ticks. REQUIRES: most >= 3.
Axis LinearAxis(std::string title, double low, double high, int most = 6);
// Ticks at powers of ten, at 1, 2 and 5, or at finer numbers, whichever are at most `most`. A range
// that is not positive is replaced. The range is widened by 6 % of its logarithm.
Axis LogAxis(std::string title, double low, double high, int most = 7);

// As short as it can be: "0.5", "20", "3000", "20k", "5M".
std::string TickText(double value);

}  // namespace mlc::html
