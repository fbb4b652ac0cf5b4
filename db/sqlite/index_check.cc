#include "db/sqlite/index_check.h"

#include <bit>
#include <string>

namespace mlc::db {
namespace {

struct IndexQuery {
  const char* name;
  const char* sql;  // only what the index holds, in its order: the number of the row comes last
};

constexpr IndexQuery kQueries[] = {
    {"sqlite_autoindex_record_1",
     "SELECT task_uid, id FROM record INDEXED BY sqlite_autoindex_record_1 ORDER BY task_uid"},
    {"record_task",
     "SELECT workload, target, id FROM record INDEXED BY record_task"
     " ORDER BY workload, target, id"},
    {"record_best",
     "SELECT workload, target, median_ns, task_uid, id FROM record INDEXED BY record_best"
     " WHERE outcome=0 ORDER BY workload, target, median_ns, task_uid"},
    {"record_confirmed",
     "SELECT workload, target, created_us, task_uid, id FROM record INDEXED BY record_confirmed"
     " WHERE outcome=0 AND arm='verify' ORDER BY workload, target, created_us, task_uid"},
};

uint64_t Mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15;
  return hash ^ (hash >> 29);
}

uint64_t Bits(int64_t value) { return static_cast<uint64_t>(value); }

// Positive times sort as their bits do.
uint64_t Bits(double value) { return std::bit_cast<uint64_t>(value); }

// Moments before 1970 come first, as SQLite sorts them.
uint64_t Moment(int64_t value) { return Bits(value) ^ (uint64_t{1} << 63); }

}  // namespace

// A sum, so that the order of the rows does not matter.
void IndexCheck::Sum::Add(const Entry& entry) {
  uint64_t mixed = 0x2545f4914f6cdd1d;
  for (uint64_t value : entry) mixed = Mix(mixed, value);
  hash += Mix(mixed, mixed >> 32);
  ++entries;
}

void IndexCheck::AddRow(const Record& record, int64_t workload, int64_t target) {
  const Digest& uid = record.task_uid;
  rows_[kTaskUid].Add({0, 0, 0, uid.high, uid.low, Bits(record.id)});
  rows_[kTask].Add({Bits(workload), Bits(target), 0, 0, 0, Bits(record.id)});
  if (record.measurement.outcome != Outcome::kOk) return;
  rows_[kBest].Add({Bits(workload), Bits(target), Bits(record.measurement.median_ns), uid.high,
                    uid.low, Bits(record.id)});
  if (!IsConfirmation(record)) return;
  rows_[kConfirmed].Add({Bits(workload), Bits(target), Moment(record.created_us), uid.high, uid.low,
                         Bits(record.id)});
}

IndexCheck::Entry IndexCheck::EntryOf(const Statement& row, Index index) {
  if (index == kTaskUid) {
    const Digest uid = row.DigestAt(0);
    return {0, 0, 0, uid.high, uid.low, Bits(row.Int(1))};
  }
  if (index == kTask) return {Bits(row.Int(0)), Bits(row.Int(1)), 0, 0, 0, Bits(row.Int(2))};
  const uint64_t order = index == kBest ? Bits(row.Real(2)) : Moment(row.Int(2));
  const Digest uid = row.DigestAt(3);
  return {Bits(row.Int(0)), Bits(row.Int(1)), order, uid.high, uid.low, Bits(row.Int(4))};
}

Result<IndexCheck::Sum> IndexCheck::SumOf(Database& database, Index index) {
  const IndexQuery& query = kQueries[index];
  Statement rows = MLC_TRY(database.Prepare(query.sql));
  Sum sum;
  Entry before{};
  while (MLC_TRY(rows.Step())) {
    const Entry entry = EntryOf(rows, index);
    if (sum.entries > 0 && !(before < entry)) {
      return DataLoss(std::string("entries of index ") + query.name + " are out of order");
    }
    before = entry;
    sum.Add(entry);
  }
  return sum;
}

Status IndexCheck::Compare(Database& database) const {
  for (Index index : {kTaskUid, kTask, kBest, kConfirmed}) {
    const Sum found = MLC_TRY(SumOf(database, index));
    const Sum& wanted = rows_[index];
    if (found == wanted) continue;
    return DataLoss(std::string("index ") + kQueries[index].name + " has " +
                    std::to_string(found.entries) + " entries, not those of the " +
                    std::to_string(wanted.entries) + " rows it is of");
  }
  return Status();
}

}  // namespace mlc::db
