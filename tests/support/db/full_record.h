// Records in which every field of the tables has a value of its own, so that a field that something
// drops or swaps shows.
#pragma once

#include <concepts>
#include <map>
#include <string>
#include <type_traits>

#include "base/text.h"
#include "db/record_fields.h"

namespace mlc::tests {

inline std::string TextOf(const std::string& value) { return value; }
inline std::string TextOf(double value) { return FloatToText(value); }
inline std::string TextOf(Outcome value) { return std::string(ToText(value)); }
inline std::string TextOf(const Digest& value) { return value.ToText(); }
template <std::integral Integer>
std::string TextOf(Integer value) {
  return std::to_string(value);
}

// The value of each field by its name, as text.
template <typename Fields>
std::map<std::string, std::string> TextsOf(const Fields& record) {
  std::map<std::string, std::string> texts;
  VisitFields(record, [&](const FieldInfo& field, const auto& value) {
    texts[std::string(field.name)] = TextOf(value);
  });
  return texts;
}

// Gives each field that is still empty, zero or the member's default a value that no other one has.
template <typename Fields>
void FillEmptyFields(Fields& record) {
  int n = 100;
  VisitFields(record, [&](const FieldInfo& field, auto& value) {
    using Value = std::decay_t<decltype(value)>;
    ++n;
    if constexpr (std::same_as<Value, std::string>) {
      if (value.empty()) value = std::string(field.name) + " of a test";
    } else if constexpr (std::is_arithmetic_v<Value>) {
      if (value == Value() || field.name == "machine_speed") value = static_cast<Value>(n);
    }
  });
}

// `record`, which needs its digests, target, config and times, with values for all the rest.
inline db::Record FullRecord(db::Record record) {
  FillEmptyFields(record);
  return record;
}

}  // namespace mlc::tests
