// The files that pages load: a style sheet and a script, from assets/ in this folder. Constant.
#pragma once

#include <string_view>

namespace mlc::server::page {

std::string_view PageCss();
std::string_view PageJs();

}  // namespace mlc::server::page
