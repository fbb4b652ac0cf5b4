// How much space snapshots may use on a volume. The log on the same volume must be able to grow,
// and to be copied once when a new version migrates it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"

namespace mlc::db {

struct SnapshotFile {
  std::string name;
  int64_t bytes = 0;
};

struct SnapshotRoom {
  int64_t needed = 0;   // upper bound of the size of the next snapshot
  int64_t free = 0;     // free space of the volume
  int64_t reserve = 0;  // space that must stay free there
};

// The space for one more snapshot of the log in `folder`. On the log's volume, `free_percent` of it
// (8 GiB at most) and the size of the log stay free; on another volume nothing has to.
Result<SnapshotRoom> RoomFor(const std::string& log, const std::string& folder, int free_percent);

// Returns the snapshots to delete for the next one, the oldest first; the newest stays. Empty if
// that would not suffice. Pure.
std::optional<std::vector<std::string>> SnapshotsInTheWay(std::vector<SnapshotFile> there,
                                                          const SnapshotRoom& room);

// RESOURCE_EXHAUSTED with the figures as text.
Status NoRoom(const std::string& folder, const SnapshotRoom& room);

}  // namespace mlc::db
