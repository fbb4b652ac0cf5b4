// A folder of snapshots for builds. Each file is immutable and named by its time and content; the
// link "latest.db" leads to the newest. A reader of the link or a file never sees half of one. A
// policy decides which old snapshots are deleted. Several publishers on one host may use a folder;
// they lock a file in it.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "db/snapshot/snapshot.h"

namespace mlc::db {

// Either rule keeps a snapshot.
struct SnapshotPolicy {
  int newest = 24;  // number of newest ones to keep, at least 1
  int days = 30;    // and the last one of each of this many days (UTC) with snapshots
  // Percent of the log's volume that stays free (RoomFor).
  int free_percent = 0;
  // If there is no room for a new snapshot, delete old ones that the rules would keep.
  bool makes_room = false;
};

struct PublishedSnapshot {
  std::string path;
  SnapshotInfo info;
  bool is_new = true;  // false: the log has not changed since the newest one
  std::vector<std::string> removed;
};

// "tuning-20261122T021500Z-<32 hexadecimal digits>.db"
std::string SnapshotName(int64_t wall_us, const Digest& content);

// Returns the file names that the policy deletes. Files with other names stay. Pure.
std::vector<std::string> OutdatedSnapshots(std::vector<std::string> names,
                                           const SnapshotPolicy& policy);

// Publishes the log, which may be in use, in `folder` (created if missing). DATA_LOSS if the log
// has a damaged record; nothing is published then. RESOURCE_EXHAUSTED if there is no room; the copy
// is not started. ABORTED while another process publishes.
Result<PublishedSnapshot> PublishSnapshot(const std::string& log, const std::string& folder,
                                          const SnapshotPolicy& policy, int64_t wall_us);

}  // namespace mlc::db
