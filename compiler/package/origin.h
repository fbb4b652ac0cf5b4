// Where the config of a task's kernel comes from. One word as text: "default", the record, or
// "transfer:" and the record. Values; thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <variant>

namespace mlc::package {

// The default config: there was neither a record nor a similar workload.
struct FromDefault {
  friend bool operator==(const FromDefault&, const FromDefault&) = default;
};
// Measured itself. `record`: the digest by which the log has it, as text.
struct FromRecord {
  std::string record;
  friend bool operator==(const FromRecord&, const FromRecord&) = default;
};
// Transferred from the record of a similar workload.
struct FromSimilar {
  std::string record;
  friend bool operator==(const FromSimilar&, const FromSimilar&) = default;
};
using Origin = std::variant<FromDefault, FromRecord, FromSimilar>;

std::string ToText(const Origin& origin);
// Of any word: what is neither of the others names a record.
Origin ParseOrigin(std::string_view word);

}  // namespace mlc::package
