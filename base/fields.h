// Descriptions of the fields of a struct, for tables from which columns, keys, messages of the wire
// and tests follow: see base/measurement.h. Values, known at compile time.
#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace mlc {

enum class Range : uint8_t { kNotNegative, kAny };

struct FieldInfo {
  std::string_view name;       // of the log's column, the key of exported lines, the wire's field
  std::string_view label;      // in messages and reports
  std::string_view unit = {};  // "ns", "ms", "MHz"; empty for ratios, counts and texts
  double limit = 0;            // a number is below it; 0: none
  Range range = Range::kNotNegative;  // of numbers
  bool listed = false;                // reports list it if the number is not zero
  // The first version of the log's schema that has the field. A field of a version above 1 is left
  // out of digests and exported lines if it has the default value (zero or an empty text), which
  // older records have.
  int since = 1;
};

template <typename Owner, typename T>
struct Field {
  constexpr Field(T Owner::*of, FieldInfo about) : member(of), info(about) {}
  T Owner::*member;
  FieldInfo info;
};

// `T` is `Owner`, const or not.
template <typename T, typename Owner>
concept MaybeConst = std::same_as<std::remove_const_t<T>, Owner>;

// visit(const FieldInfo&, value) for each field of the table, in its order. `owner` may be const.
template <typename Table, typename Owner, typename Visit>
constexpr void VisitTable(const Table& table, Owner& owner, Visit&& visit) {
  std::apply([&](const auto&... field) { (visit(field.info, owner.*(field.member)), ...); }, table);
}

}  // namespace mlc
