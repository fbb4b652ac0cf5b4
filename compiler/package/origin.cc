#include "compiler/package/origin.h"

namespace mlc::package {
namespace {

constexpr std::string_view kDefault = "default";
constexpr std::string_view kSimilar = "transfer:";

}  // namespace

std::string ToText(const Origin& origin) {
  if (const auto* measured = std::get_if<FromRecord>(&origin)) return measured->record;
  const auto* similar = std::get_if<FromSimilar>(&origin);
  return similar != nullptr ? std::string(kSimilar) + similar->record : std::string(kDefault);
}

Origin ParseOrigin(std::string_view word) {
  if (word == kDefault) return FromDefault();
  if (word.starts_with(kSimilar)) return FromSimilar{std::string(word.substr(kSimilar.size()))};
  return FromRecord{std::string(word)};
}

}  // namespace mlc::package
