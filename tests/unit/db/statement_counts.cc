#include "tests/unit/db/statement_counts.h"

#include <sqlite3.h>

#include <mutex>
#include <utility>

namespace mlc::db {
namespace {

std::mutex mutex;
std::map<std::string, StatementCount> counts;

int Count(unsigned, void*, void* statement, void*) {
  auto* ended = static_cast<sqlite3_stmt*>(statement);
  const char* text = sqlite3_sql(ended);
  if (text == nullptr) return 0;
  const int steps = sqlite3_stmt_status(ended, SQLITE_STMTSTATUS_VM_STEP, 1);
  const int scanned = sqlite3_stmt_status(ended, SQLITE_STMTSTATUS_FULLSCAN_STEP, 1);
  const int sorted = sqlite3_stmt_status(ended, SQLITE_STMTSTATUS_SORT, 1);
  std::lock_guard lock(mutex);
  StatementCount& count = counts[text];
  ++count.runs;
  count.steps += steps;
  count.scanned += scanned;
  count.sorted += sorted;
  return 0;
}

// SQLite's form of an extension, called with each new connection.
int Watch(sqlite3* connection, const char**, const void*) {
  return sqlite3_trace_v2(connection, SQLITE_TRACE_PROFILE, Count, nullptr);
}

}  // namespace

void StatementCounts::Start() { sqlite3_auto_extension(reinterpret_cast<void (*)()>(Watch)); }

std::map<std::string, StatementCount> StatementCounts::Take() {
  std::lock_guard lock(mutex);
  return std::exchange(counts, {});
}

}  // namespace mlc::db
