// The style sheet of a page: colours as variables for light and dark screens, charts that reflow,
// print. Series of charts have the classes c0 to c7, in colours that also differ in lightness.
// Constant; thread-safe.
#pragma once

#include <string_view>

namespace mlc::html {

inline constexpr int kSeriesColors = 8;

// CSS without the characters < and &, which would end or break a style element.
std::string_view PageStyle();

}  // namespace mlc::html
