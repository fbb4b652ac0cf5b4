#include "db/snapshot/snapshot_room.h"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>

#include "base/file_access.h"

namespace mlc::db {
namespace {

// A tenth of a large volume is more than a log grows in weeks.
constexpr int64_t kLargestShare = int64_t{8} << 30;

int64_t BytesOf(const std::string& path) {
  struct stat file;
  return stat(path.c_str(), &file) == 0 ? file.st_size : 0;
}

// "370 MB"; figures for people.
std::string Mb(int64_t bytes) { return std::to_string((bytes + 999'999) / 1'000'000) + " MB"; }

}  // namespace

Result<SnapshotRoom> RoomFor(const std::string& log, const std::string& folder, int free_percent) {
  struct statvfs disk;
  struct stat here;
  struct stat there;
  if (statvfs(folder.c_str(), &disk) != 0 || stat(folder.c_str(), &here) != 0) {
    return CannotOpen("cannot use", folder, errno);
  }
  if (stat(log.c_str(), &there) != 0) return CannotOpen("cannot read", log, errno);
  const auto block = static_cast<int64_t>(disk.f_frsize);
  SnapshotRoom room;
  // What still waits in the write-ahead file may be in it, too.
  room.needed = there.st_size + BytesOf(log + "-wal");
  room.free = static_cast<int64_t>(disk.f_bavail) * block;
  if (here.st_dev == there.st_dev) {
    const int64_t share = static_cast<int64_t>(disk.f_blocks) * block / 100 * free_percent;
    room.reserve = std::max(std::min(share, kLargestShare), room.needed);
  }
  return room;
}

std::optional<std::vector<std::string>> SnapshotsInTheWay(std::vector<SnapshotFile> there,
                                                          const SnapshotRoom& room) {
  std::ranges::sort(there, {}, &SnapshotFile::name);
  std::vector<std::string> gone;
  int64_t free = room.free;
  for (size_t i = 0; i + 1 < there.size() && free < room.needed + room.reserve; ++i) {
    free += there[i].bytes;
    gone.push_back(there[i].name);
  }
  if (free < room.needed + room.reserve) return std::nullopt;
  return gone;
}

Status NoRoom(const std::string& folder, const SnapshotRoom& room) {
  const std::string log =
      room.reserve > 0 ? ", and " + Mb(room.reserve) + " have to stay free for the log" : "";
  return ResourceExhausted("no room for a snapshot in " + folder + ": it needs " + Mb(room.needed) +
                           log + ", but " + Mb(room.free) +
                           " are free: free space, remove old ones, or give snapshots a volume of "
                           "their own");
}

}  // namespace mlc::db
