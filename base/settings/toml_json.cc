#include "base/settings/toml_json.h"

#include <toml++/toml.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "base/settings/toml_depth.h"

namespace mlc::settings {
namespace {

using Json = nlohmann::ordered_json;

// HasDeepKey and the parser limit how deep values are nested.
Json ToJson(const toml::node& node) {
  if (const toml::table* table = node.as_table()) {
    Json json = Json::object();
    for (const auto& [key, value] : *table) json[std::string(key.str())] = ToJson(value);
    return json;
  }
  if (const toml::array* array = node.as_array()) {
    Json json = Json::array();
    for (const toml::node& element : *array) json.push_back(ToJson(element));
    return json;
  }
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* whole = node.as_integer()) return whole->get();
  if (const auto* real = node.as_floating_point()) return real->get();
  if (const auto* truth = node.as_boolean()) return truth->get();
  return nullptr;
}

}  // namespace

Result<std::string> JsonOfToml(std::string_view toml) {
  if (HasDeepKey(toml)) {
    return InvalidArgument("a key has more than " + std::to_string(kMostKeyParts) + " parts");
  }
  const toml::parse_result parsed = toml::parse(toml);
  if (parsed) return ToJson(parsed.table()).dump(-1, ' ', false, Json::error_handler_t::replace);
  const toml::source_region& place = parsed.error().source();
  std::ostringstream words;
  words << "line " << place.begin.line << ", column " << place.begin.column << ": "
        << parsed.error().description();
  return InvalidArgument(words.str());
}

}  // namespace mlc::settings
