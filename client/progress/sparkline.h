// A curve in one line of text. Pure; thread-safe.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "client/progress/text_columns.h"

namespace mlc::client {

// The values as bars between their minimum and maximum, one bar per column, at most `columns`. If
// there are more values than columns, each bar shows the last value of its range. Empty for no
// values.
std::string Sparkline(std::span<const double> values, size_t columns, Charset charset);

}  // namespace mlc::client
