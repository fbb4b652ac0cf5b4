// A curve in one line of text. Pure; thread-safe.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "client/progress/text_columns.h"

namespace mlc::client {

// The values as bars between their least and their largest one, one for each column: at most
// `columns`, each of which then has the last of its values. Empty for no values.
std::string Sparkline(std::span<const double> values, size_t columns, Charset charset);

}  // namespace mlc::client
