#include "client/model/dims.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "compiler/backend/backend.h"
#include "compiler/runtime/size_table.h"

namespace mlc::client {

namespace {

constexpr int64_t kMostSizes = MLC_MOST_SIZES;
// Each size of a range is checked when it is compiled.
constexpr int64_t kMostInRange = 4096;

// A whole number of `least` or more.
std::optional<int64_t> ParseSize(std::string_view text, int64_t least = 0) {
  int64_t value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size() || value < least) {
    return std::nullopt;
  }
  return value;
}

Status Malformed(const std::string& argument) {
  return InvalidArgument(
      "--dim takes NAME=N, NAME=N,N,..., NAME=A..B, NAME=A..B:STEP or NAME=A..B@N,N,... with "
      "sizes of 0 or more, not '" +
      argument + "'");
}

Status Reversed(const std::string& argument) {
  return InvalidArgument("--dim " + argument + ": the range ends below its first size");
}

Status TooMany(const std::string& what, const std::string& count) {
  return InvalidArgument(
      what + " asks for " + count + " combinations of sizes, and a library has at most " +
      std::to_string(kMostSizes) +
      ": give fewer sizes, a step, as in seq=64..512:64, or the classes of a range, as in "
      "seq=1..512@64,128,256");
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
      colon == item.npos ? std::optional<int64_t>(1) : ParseSize(item.substr(colon + 1), 1);
  if (!first || !last || !step) return Malformed(argument);
  if (*first > *last) return Reversed(argument);
  const int64_t steps = (*last - *first) / *step;
  if (steps >= kMostSizes) return TooMany("--dim " + argument, std::to_string(steps + 1));
  for (int64_t i = 0; i <= steps; ++i) sizes.insert(*first + i * *step);
  return {};
}

Result<std::set<int64_t>> ParseList(const std::string& argument, std::string_view text) {
  std::set<int64_t> sizes;
  for (bool more = true; more;) {
    const size_t comma = text.find(',');
    more = comma != std::string_view::npos;
    MLC_TRY(AddItem(argument, text.substr(0, comma), sizes));
    if (more) text.remove_prefix(comma + 1);
  }
  return sizes;
}

constexpr int64_t kLeastNarrow = 8;  // below it a fourth of a class is hardly time

// Powers of two, the halves between them, and the fourths if steps are narrow.
std::set<int64_t> UsualClasses(int64_t most, ClassSteps steps) {
  std::set<int64_t> classes;
  int64_t power = 1;
  while (power < most) {
    int64_t parts = power == 1 ? 1 : 2;
    if (steps == ClassSteps::kNarrow && power >= kLeastNarrow) parts = 4;
    for (int64_t part = 0; part < parts && power / parts * part < most - power; ++part) {
      classes.insert(power + power / parts * part);
    }
    if (power > most / 2) break;
    power *= 2;
  }
  return classes;
}

// A..B or A..B@LIST; null if the text is a list.
Result<std::optional<VaryingDim>> ParseRange(const std::string& argument, std::string_view text,
                                             ClassSteps steps) {
  const size_t at = text.find('@');
  const std::string_view range = text.substr(0, at);
  const size_t dots = range.find("..");
  const bool is_range =
      dots != std::string_view::npos && range.find_first_of(",:") == std::string_view::npos;
  if (!is_range) {
    if (at != std::string_view::npos) return Malformed(argument);
    return std::optional<VaryingDim>();
  }
  const std::optional<int64_t> first = ParseSize(range.substr(0, dots));
  const std::optional<int64_t> last = ParseSize(range.substr(dots + 2));
  if (!first || !last) return Malformed(argument);
  if (*first > *last) return Reversed(argument);
  if (*last - *first >= kMostInRange) {
    return InvalidArgument("--dim " + argument + " has more than " + std::to_string(kMostInRange) +
                           " sizes: give a narrower range");
  }
  std::set<int64_t> classes;
  if (at != std::string_view::npos) {
    classes = MLC_TRY(ParseList(argument, text.substr(at + 1)));
  } else if (*first > 0) {
    classes = UsualClasses(*last, steps);
  }
  classes.insert(*last);
  VaryingDim dim;
  dim.any_size = *first != *last;
  for (int64_t i = 0; i <= *last - *first; ++i) dim.sizes.push_back(*first + i);
  for (const int64_t size : classes) {
    if (size >= *first && size <= *last) dim.classes.push_back(size);
  }
  return std::optional(std::move(dim));
}

using Sizes = std::map<std::string, VaryingDim>;

Result<Sizes> ParseAll(const std::vector<std::string>& arguments, ClassSteps steps) {
  Sizes all;
  for (const std::string& argument : arguments) {
    const size_t equals = argument.rfind('=');
    if (equals == 0 || equals == std::string::npos) return Malformed(argument);
    const auto [entry, is_new] = all.try_emplace(argument.substr(0, equals));
    if (!is_new) return InvalidArgument("--dim " + entry->first + " is given twice");
    const std::string_view text = std::string_view(argument).substr(equals + 1);
    if (std::optional<VaryingDim> range = MLC_TRY(ParseRange(argument, text, steps))) {
      entry->second = *std::move(range);
      continue;
    }
    const std::set<int64_t> sizes = MLC_TRY(ParseList(argument, text));
    entry->second.sizes = {sizes.begin(), sizes.end()};
    entry->second.classes = entry->second.sizes;
  }
  return all;
}

}  // namespace

bool DimSizes::ranged() const { return std::ranges::any_of(dims, &VaryingDim::any_size); }

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

ClassSteps ClassStepsFor(const target::Target& target) {
  return backend::BackendOf(target).limits_rows ? ClassSteps::kWide : ClassSteps::kNarrow;
}

Result<DimSizes> ParseDimSizes(const std::vector<std::string>& arguments, ClassSteps steps) {
  const Sizes all = MLC_TRY(ParseAll(arguments, steps));
  DimSizes result;
  result.combinations.emplace_back();
  for (const auto& [name, dim] : all) {
    const std::vector<int64_t>& sizes = dim.classes;
    if (dim.sizes.size() > 1) {
      result.varying.push_back(name);
      result.dims.push_back(dim);
    }
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
