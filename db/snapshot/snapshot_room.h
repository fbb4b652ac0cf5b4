// How much snapshots may take of a volume: the log beside them must be able to grow, and to be
// copied once when a new version migrates it.
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
  int64_t needed = 0;   // by the next one, at most
  int64_t free = 0;     // where they are
  int64_t reserve = 0;  // that has to stay free there
};

// What one more snapshot of the log would find in `folder`. On the log's volume `free_percent` of
// it stay free, 8 GiB at most, and as much as the log has; on another one nothing has to.
Result<SnapshotRoom> RoomFor(const std::string& log, const std::string& folder, int free_percent);

// Of the snapshots that are there, those that have to go for the next one, the oldest first; the
// newest stays. Nothing if that does not suffice. Pure.
std::optional<std::vector<std::string>> SnapshotsInTheWay(std::vector<SnapshotFile> there,
                                                          const SnapshotRoom& room);

// RESOURCE_EXHAUSTED in words.
Status NoRoom(const std::string& folder, const SnapshotRoom& room);

}  // namespace mlc::db
