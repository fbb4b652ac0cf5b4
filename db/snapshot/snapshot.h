// A snapshot: one closed file that builds read and that never changes. It is published as a whole
// or not at all, and only if every record in it is intact. Thread-safe for different files.
#pragma once

#include <string>

#include "base/digest.h"
#include "base/status.h"

namespace mlc::db {

struct SnapshotInfo {
  Digest content;  // of the file's bytes
  int64_t records = 0;
  int64_t bytes = 0;
};

// Copies the log, which may be in use, to a temporary file beside `to` and renames it. DATA_LOSS if
// the log has a damaged record, and `to` is unchanged. UNWRITABLE as in CheckReplaceable.
Result<SnapshotInfo> WriteSnapshot(const std::string& log, const std::string& to);

}  // namespace mlc::db
