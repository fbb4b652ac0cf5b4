#include "db/snapshot/snapshot_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "db/snapshot/snapshot_room.h"

namespace mlc::db {
namespace {

namespace fs = std::filesystem;

constexpr char kLatest[] = "latest.db";
constexpr std::string_view kStart = "tuning-";
constexpr size_t kDayEnd = kStart.size() + 8;
constexpr size_t kTimeEnd = kStart.size() + 16;
constexpr size_t kNameLength = kTimeEnd + 1 + 32 + 3;

Status CannotWrite(const std::string& path, int error) {
  return Unwritable("cannot write " + path + ": " + strerror(error));
}

bool IsSnapshotName(const std::string& name) {
  return name.size() == kNameLength && name.starts_with(kStart) && name.ends_with(".db") &&
         name[kTimeEnd] == '-' && name[kTimeEnd - 1] == 'Z';
}

std::vector<std::string> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    names.push_back(entry.path().filename().string());
  }
  return names;
}

std::optional<std::string> Newest(const std::string& folder) {
  std::optional<std::string> newest;
  for (const std::string& name : NamesIn(folder)) {
    if (IsSnapshotName(name) && (!newest || name > *newest)) newest = name;
  }
  return newest;
}

// A link cannot be replaced in place, but a new one can be renamed over it.
Status PointLatestAt(const std::string& folder, const std::string& name) {
  const std::string link = folder + "/" + kLatest;
  const std::string temporary = link + ".new";
  (void)unlink(temporary.c_str());
  if (symlink(name.c_str(), temporary.c_str()) != 0) return CannotWrite(temporary, errno);
  if (rename(temporary.c_str(), link.c_str()) != 0) return CannotWrite(link, errno);
  return {};
}

// Held while publishing; a folder for snapshots may lie on a network, where a log may not.
class PublishLock {
 public:
  static Result<PublishLock> Take(const std::string& folder) {
    const std::string path = folder + "/.publish.lock";
    const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0) return CannotWrite(path, errno);
    PublishLock lock(fd);
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
      return Status(StatusCode::kAborted, "another process publishes into " + folder);
    }
    return lock;
  }
  PublishLock(PublishLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ~PublishLock() {
    if (fd_ >= 0) close(fd_);
  }

 private:
  explicit PublishLock(int fd) : fd_(fd) {}
  int fd_;
};

// Seconds since 1970 of a snapshot's name.
int64_t TimeOf(const std::string& name) {
  tm utc{};
  if (strptime(name.c_str() + kStart.size(), "%Y%m%dT%H%M%SZ", &utc) == nullptr) return 0;
  return timegm(&utc);
}

// Makes room for one more, or says that there is none. Who went is added to `removed`.
Status MakeRoom(const std::string& log, const std::string& folder, const SnapshotPolicy& policy,
                std::vector<std::string>& removed) {
  const SnapshotRoom room = MLC_TRY(RoomFor(log, folder, policy.free_percent));
  std::vector<SnapshotFile> there;
  for (const std::string& name : NamesIn(folder)) {
    std::error_code gone;
    const auto bytes = IsSnapshotName(name) ? fs::file_size(folder + "/" + name, gone) : 0;
    if (IsSnapshotName(name) && !gone) there.push_back({name, static_cast<int64_t>(bytes)});
  }
  if (!policy.makes_room) there.clear();
  const auto old = SnapshotsInTheWay(std::move(there), room);
  if (!old) return NoRoom(folder, room);
  for (const std::string& name : *old) {
    if (unlink((folder + "/" + name).c_str()) == 0) removed.push_back(name);
  }
  return {};
}

Status MoveInto(const std::string& incoming, const std::string& path) {
  if (chmod(incoming.c_str(), 0444) != 0) return CannotWrite(incoming, errno);
  if (rename(incoming.c_str(), path.c_str()) != 0) return CannotWrite(path, errno);
  return {};
}

}  // namespace

std::string SnapshotName(int64_t wall_us, const Digest& content) {
  const time_t seconds = wall_us / 1'000'000;
  tm utc{};
  (void)gmtime_r(&seconds, &utc);
  char time[32];
  (void)strftime(time, sizeof(time), "%Y%m%dT%H%M%SZ", &utc);
  return std::string(kStart) + time + "-" + content.ToText() + ".db";
}

std::vector<std::string> OutdatedSnapshots(std::vector<std::string> names,
                                           const SnapshotPolicy& policy) {
  std::erase_if(names, [](const std::string& name) { return !IsSnapshotName(name); });
  std::sort(names.begin(), names.end(), std::greater<>());
  std::vector<std::string> outdated;
  std::set<std::string> days;
  for (size_t i = 0; i < names.size(); ++i) {
    const bool last_of_day = days.insert(names[i].substr(0, kDayEnd)).second;
    const bool daily = last_of_day && static_cast<int>(days.size()) <= policy.days;
    if (static_cast<int>(i) >= std::max(1, policy.newest) && !daily) outdated.push_back(names[i]);
  }
  return outdated;
}

Result<PublishedSnapshot> PublishSnapshot(const std::string& log, const std::string& folder,
                                          const SnapshotPolicy& policy, int64_t wall_us) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return CannotWrite(folder, error.value());
  const PublishLock lock = MLC_TRY(PublishLock::Take(folder));
  PublishedSnapshot published;
  const std::string incoming = folder + "/.incoming.db";
  MLC_TRY(MakeRoom(log, folder, policy, published.removed));
  published.info = MLC_TRY(WriteSnapshot(log, incoming));
  const std::optional<std::string> newest = Newest(folder);
  if (newest && newest->substr(kTimeEnd + 1) == published.info.content.ToText() + ".db") {
    (void)unlink(incoming.c_str());
    published.is_new = false;
    published.path = folder + "/" + *newest;
    return published;
  }
  // The clock may step back, and two may come within a second: the new one is the last by name.
  const int64_t after = newest ? (TimeOf(*newest) + 1) * 1'000'000 : 0;
  const std::string name = SnapshotName(std::max(wall_us, after), published.info.content);
  published.path = folder + "/" + name;
  MLC_TRY(MoveInto(incoming, published.path));
  MLC_TRY(PointLatestAt(folder, name));
  for (const std::string& old : OutdatedSnapshots(NamesIn(folder), policy)) {
    if (old != name && unlink((folder + "/" + old).c_str()) == 0) published.removed.push_back(old);
  }
  return published;
}

}  // namespace mlc::db
