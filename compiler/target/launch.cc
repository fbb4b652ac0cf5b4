#include "compiler/target/launch.h"

#include <array>
#include <charconv>

namespace mlc::target {
namespace {

constexpr Dim3 kMaxBlocks{INT32_MAX, 65535, 65535};
constexpr Dim3 kMaxThreads{1024, 1024, 64};
constexpr int64_t kMaxOfABlock = 1024;

bool Within(const Dim3& extent, const Dim3& most) {
  const auto within = [](int64_t n, int64_t limit) { return n >= 1 && n <= limit; };
  return within(extent.x, most.x) && within(extent.y, most.y) && within(extent.z, most.z);
}

}  // namespace

std::string Dim3::ToText() const {
  std::string text = std::to_string(x);
  if (!is_line()) text += "," + std::to_string(y);
  if (z != 1) text += "," + std::to_string(z);
  return text;
}

Result<Dim3> ParseDim3(const std::string& text) {
  std::array<int64_t, 3> extents = {1, 1, 1};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (int64_t& extent : extents) {
    const auto [stop, error] = std::from_chars(at, end, extent);
    if (error != std::errc()) break;
    if (stop == end) return Dim3(extents[0], extents[1], extents[2]);
    if (*stop != ',') break;
    at = stop + 1;
  }
  return InvalidArgument("'" + text.substr(0, 60) + "' is not an extent: expected X, X,Y or X,Y,Z");
}

Status CheckLaunch(const Dim3& grid, const Dim3& block) {
  if (!Within(grid, kMaxBlocks)) {
    return InvalidArgument("a grid has 1 to 2147483647 blocks, and 65535 along y and z, not " +
                           grid.ToText());
  }
  // Each extent first: the product of any three may overflow.
  if (!Within(block, kMaxThreads) || block.x * block.y * block.z > kMaxOfABlock) {
    return InvalidArgument("a block has 1 to 1024 threads, and 64 along z, not " + block.ToText());
  }
  return Status();
}

}  // namespace mlc::target
