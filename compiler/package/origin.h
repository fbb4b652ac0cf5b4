// The origin of a task's config. As text: "default", the record, or "transfer:" and the record.
// Values; thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <variant>

namespace mlc::package {

// The default config: there was neither a record nor a similar workload.
struct FromDefault {
  friend bool operator==(const FromDefault&, const FromDefault&) = default;
};
// The config itself was measured. `record`: the record's digest in the log, as text.
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
// Accepts any word: a word that is neither of the other forms names a record.
Origin ParseOrigin(std::string_view word);

}  // namespace mlc::package
