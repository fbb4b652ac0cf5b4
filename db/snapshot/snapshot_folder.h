// A folder of snapshots for builds: each file is immutable and named by its time and content, and
// "latest.db" is a link to the newest. Readers of the link or of a file never see half of one; old
// ones are removed by a policy. Safe with several publishers on one host (a lock file in the
// folder).
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "db/snapshot/snapshot.h"

namespace mlc::db {

// A snapshot is kept if either rule keeps it.
struct SnapshotPolicy {
  int newest = 24;  // so many of the newest, at least 1
  int days = 30;    // and the last one of each of so many days (UTC) that have any
  // On the log's volume this share stays free (RoomFor).
  int free_percent = 0;
  // Old ones go, though the rules keep them, if there is no room for a new one else.
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

// Of file names, those that the policy drops; names of another form are not ours and stay. Pure.
std::vector<std::string> OutdatedSnapshots(std::vector<std::string> names,
                                           const SnapshotPolicy& policy);

// Publishes the log, live or not, into `folder` (made if missing). DATA_LOSS if the log has a
// damaged record: nothing is published then. RESOURCE_EXHAUSTED if there is no room for one: none
// is begun. ABORTED while another process publishes.
Result<PublishedSnapshot> PublishSnapshot(const std::string& log, const std::string& folder,
                                          const SnapshotPolicy& policy, int64_t wall_us);

}  // namespace mlc::db
