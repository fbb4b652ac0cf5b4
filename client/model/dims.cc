#include "client/model/dims.h"

#include <charconv>
#include <optional>
#include <set>
#include <string_view>

#include "compiler/runtime/size_table.h"

namespace mlc::client {

namespace {

constexpr int64_t kMostSizes = MLC_MOST_SIZES;

// A whole number of 1 or more.
std::optional<int64_t> ParseSize(std::string_view text) {
  int64_t value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size() || value < 1) {
    return std::nullopt;
  }
  return value;
}

Status Malformed(const std::string& argument) {
  return InvalidArgument(
      "--dim takes NAME=N, NAME=N,N,... or NAME=A..B:STEP with sizes of 1 or "
      "more, not '" +
      argument + "'");
}

Status TooMany(const std::string& what, const std::string& count) {
  return InvalidArgument(
      what + " asks for " + count + " combinations of sizes, and a library has at most " +
      std::to_string(kMostSizes) + ": give fewer sizes, or a step, as in seq=64..512:64");
}

// N, A..B or A..B:STEP.
Status AddItem(const std::string& argument, std::string_view item, std::set<int64_t>& sizes) {
  const size_t dots = item.find("..");
  if (dots == std::string_view::npos) {
    const std::optional<int64_t> size = ParseSize(item);
    if (!size) return Malformed(argument);
    sizes.insert(*size);
    return {};
  }
  const size_t colon = item.find(':', dots);
  const std::optional<int64_t> first = ParseSize(item.substr(0, dots));
  const std::optional<int64_t> last =
      ParseSize(item.substr(dots + 2, colon == item.npos ? item.npos : colon - dots - 2));
  const std::optional<int64_t> step =
      colon == item.npos ? std::optional<int64_t>(1) : ParseSize(item.substr(colon + 1));
  if (!first || !last || !step || *first > *last) return Malformed(argument);
  const int64_t steps = (*last - *first) / *step;
  if (steps >= kMostSizes) return TooMany("--dim " + argument, std::to_string(steps + 1));
  for (int64_t i = 0; i <= steps; ++i) sizes.insert(*first + i * *step);
  return {};
}

using Sizes = std::map<std::string, std::set<int64_t>>;

Result<Sizes> ParseAll(const std::vector<std::string>& arguments) {
  Sizes all;
  for (const std::string& argument : arguments) {
    const size_t equals = argument.rfind('=');
    if (equals == 0 || equals == std::string::npos) return Malformed(argument);
    const auto [entry, is_new] = all.try_emplace(argument.substr(0, equals));
    if (!is_new) return InvalidArgument("--dim " + entry->first + " is given twice");
    std::string_view rest = std::string_view(argument).substr(equals + 1);
    for (bool more = true; more;) {
      const size_t comma = rest.find(',');
      more = comma != std::string_view::npos;
      MLC_TRY(AddItem(argument, rest.substr(0, comma), entry->second));
      if (more) rest.remove_prefix(comma + 1);
    }
  }
  return all;
}

}  // namespace

std::vector<int64_t> DimSizes::SizesAt(size_t combination) const {
  std::vector<int64_t> sizes;
  for (const std::string& name : varying) sizes.push_back(combinations[combination].at(name));
  return sizes;
}

std::string DimSizes::TextAt(size_t combination) const {
  std::string text;
  for (const std::string& name : varying) {
    text += (text.empty() ? "" : ", ") + name + "=" +
            std::to_string(combinations[combination].at(name));
  }
  return text;
}

Result<DimSizes> ParseDimSizes(const std::vector<std::string>& arguments) {
  const Sizes all = MLC_TRY(ParseAll(arguments));
  DimSizes result;
  result.combinations.emplace_back();
  for (const auto& [name, sizes] : all) {
    if (sizes.size() > 1) result.varying.push_back(name);
    const size_t count = result.combinations.size() * sizes.size();
    if (count > static_cast<size_t>(kMostSizes)) return TooMany("--dim", std::to_string(count));
    std::vector<Dims> combinations;
    for (const Dims& before : result.combinations) {
      for (const int64_t size : sizes) {
        combinations.push_back(before);
        combinations.back().emplace(name, size);
      }
    }
    result.combinations = std::move(combinations);
  }
  return result;
}

Result<Dims> ParseDims(const std::vector<std::string>& arguments) {
  const DimSizes sizes = MLC_TRY(ParseDimSizes(arguments));
  if (sizes.varies()) {
    return InvalidArgument("--dim " + sizes.varying.front() +
                           " has several sizes, and one is meant here: give one");
  }
  return sizes.combinations.front();
}

}  // namespace mlc::client
