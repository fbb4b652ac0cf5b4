// Checks that the indexes of the record table agree with the table. SQLite's own check looks up
// every row in every index, which takes ten seconds for a million rows. This one compares sums over
// the entries of each index, which one pass in order computes. Not thread-safe.
#pragma once

#include <array>
#include <cstdint>

#include "base/status.h"
#include "db/record.h"
#include "db/sqlite/sqlite.h"

namespace mlc::db {

class IndexCheck {
 public:
  // Adds a row of the table, with the numbers of its workload and its target.
  void AddRow(const Record& record, int64_t workload, int64_t target);
  // Call it after all rows, in the same transaction. DATA_LOSS names an index with missing, wrong,
  // surplus or unordered entries.
  Status Compare(Database& database) const;

 private:
  enum Index : uint8_t { kTaskUid, kTask, kBest, kConfirmed, kIndexes };
  // Workload, target, time or moment, uid in two halves, number of the row: in the index's order,
  // 0 where it has no such column.
  using Entry = std::array<uint64_t, 6>;
  struct Sum {
    uint64_t entries = 0;
    uint64_t hash = 0;
    friend bool operator==(const Sum&, const Sum&) = default;
    void Add(const Entry& entry);
  };

  static Entry EntryOf(const Statement& row, Index index);
  static Result<Sum> SumOf(Database& database, Index index);

  std::array<Sum, kIndexes> rows_;
};

}  // namespace mlc::db
