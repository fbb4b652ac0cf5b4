// Reads whole numbers from JSON objects of any library. A float, or a number out of range, is an
// error; the conversion would be undefined. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "base/status.h"

namespace mlc::db {

// INVALID_ARGUMENT, with `name`, unless the value is a whole number that an Integer can hold.
template <typename Integer, typename Json>
Result<Integer> WholeNumber(const Json& value, const std::string& name) {
  if (value.is_number_unsigned()) {
    const auto number = value.template get<uint64_t>();
    if (std::in_range<Integer>(number)) return static_cast<Integer>(number);
  } else if (value.is_number_integer()) {
    const auto number = value.template get<int64_t>();
    if (std::in_range<Integer>(number)) return static_cast<Integer>(number);
  }
  return InvalidArgument("'" + name + "' is not a whole number in its range");
}

// The same for a field of the object; `fallback` if it has none.
template <typename Integer, typename Json>
Result<Integer> WholeField(const Json& object, const char* name, Integer fallback) {
  const auto found = object.find(name);
  if (found == object.end()) return fallback;
  return WholeNumber<Integer>(*found, name);
}

}  // namespace mlc::db
