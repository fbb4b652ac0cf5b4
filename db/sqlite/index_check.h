// Whether the indexes of the record table say what the table says. SQLite's own check looks every
// row up in every index, ten seconds where there are a million rows; here sums over the entries of
// each are compared, which one pass in order gives. Not thread-safe.
#pragma once

#include <array>
#include <cstdint>

#include "base/status.h"
#include "db/record.h"
#include "db/sqlite/sqlite.h"

namespace mlc::db {

class IndexCheck {
 public:
  // A row of the table, with the numbers of its workload and its target.
  void AddRow(const Record& record, int64_t workload, int64_t target);
  // After all rows, in the same transaction. DATA_LOSS that names an index of which entries are
  // missing, wrong, too many or out of order.
  Status Compare(Database& database) const;

 private:
  enum Index : uint8_t { kTaskUid, kTask, kBest, kConfirmed, kIndexes };
  struct Sum {
    uint64_t entries = 0;
    uint64_t hash = 0;
    friend bool operator==(const Sum&, const Sum&) = default;
    void Add(std::array<uint64_t, 4> entry);
  };

  static Result<Sum> SumOf(Database& database, Index index);

  std::array<Sum, kIndexes> rows_;
};

}  // namespace mlc::db
