// What SQLite did for each statement that this process has run since Start: how often, how many
// steps of its machine, and how many of them walked a table without an index. So tests and
// benchmarks see what the log's real queries cost, not what they were meant to cost. Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace mlc::db {

struct StatementCount {
  int64_t runs = 0;
  int64_t steps = 0;
  int64_t scanned = 0;  // rows walked without an index
  int64_t sorted = 0;   // times that rows were sorted

  double steps_a_run() const {
    return runs == 0 ? 0 : static_cast<double>(steps) / static_cast<double>(runs);
  }
};

class StatementCounts {
 public:
  // Of connections that are opened from now on; of all of them together.
  static void Start();
  // Since the last call, by the statement's text.
  static std::map<std::string, StatementCount> Take();
};

}  // namespace mlc::db
