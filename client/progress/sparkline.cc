#include "client/progress/sparkline.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace mlc::client {
namespace {

// By height, the lowest first. In ASCII the amount of ink says the height.
constexpr const char* kBars[] = {"\u2581", "\u2582", "\u2583", "\u2584",
                                 "\u2585", "\u2586", "\u2587", "\u2588"};
constexpr const char* kAsciiBars[] = {"_", ".", "-", "=", "+", "*", "%", "#"};
constexpr size_t kHeights = std::size(kBars);

}  // namespace

std::string Sparkline(std::span<const double> values, size_t columns, Charset charset) {
  const size_t count = std::min(columns, values.size());
  if (count == 0) return {};
  const auto [least, largest] = std::minmax_element(values.begin(), values.end());
  const double range = *largest - *least;
  std::string line;
  for (size_t i = 0; i < count; ++i) {
    const double value = values[(i + 1) * values.size() / count - 1];
    const double height = range > 0 ? (value - *least) / range : 0;
    const auto bar = static_cast<size_t>(std::lround(height * (kHeights - 1)));
    line += charset == Charset::kUtf8 ? kBars[bar] : kAsciiBars[bar];
  }
  return line;
}

}  // namespace mlc::client
