#include "db/snapshot/snapshot.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "db/replaceable.h"
#include "db/snapshot/verify.h"
#include "db/sqlite/schema.h"
#include "db/sqlite/sqlite.h"

namespace mlc::db {
namespace {

Status CannotWrite(const std::string& path) {
  return Unwritable("cannot write " + path + ": " + strerror(errno));
}

Status Sync(const std::string& path, int flags) {
  const int fd = open(path.c_str(), flags | O_CLOEXEC);
  if (fd < 0) return CannotWrite(path);
  const bool synced = fsync(fd) == 0;
  close(fd);
  return synced ? Status() : CannotWrite(path);
}

Result<SnapshotInfo> Describe(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return CannotWrite(path);
  struct stat info;
  void* bytes = MAP_FAILED;
  if (fstat(fd, &info) == 0) {
    bytes = mmap(nullptr, static_cast<size_t>(info.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
  }
  close(fd);
  if (bytes == MAP_FAILED) return CannotWrite(path);
  SnapshotInfo snapshot;
  snapshot.bytes = info.st_size;
  snapshot.content = mlc::DigestOf(std::span<const std::byte>(static_cast<const std::byte*>(bytes),
                                                              static_cast<size_t>(info.st_size)));
  munmap(bytes, static_cast<size_t>(info.st_size));
  return snapshot;
}

Status CopyTo(const std::string& log, const std::string& to) {
  Database source = MLC_TRY(Database::Open(log, OpenMode::kReadOnly));
  MLC_TRY(CheckSchema(source, log));
  return source.CopyTo(to);
}

Result<SnapshotInfo> Publish(const std::string& temporary, const std::string& to) {
  {
    Database copy = MLC_TRY(Database::Open(temporary, OpenMode::kReadWrite));
    MLC_TRY(copy.Execute("PRAGMA journal_mode=DELETE"));
  }
  const VerifyReport report = MLC_TRY(VerifyLog(temporary));
  if (!report.problems.empty()) {
    return DataLoss("snapshot not published: " + report.problems.front());
  }
  SnapshotInfo info = MLC_TRY(Describe(temporary));
  info.records = report.records;
  MLC_TRY(Sync(temporary, O_RDONLY));
  if (rename(temporary.c_str(), to.c_str()) != 0) return CannotWrite(to);
  const std::string folder = std::filesystem::path(to).parent_path().string();
  MLC_TRY(Sync(folder.empty() ? "." : folder, O_RDONLY | O_DIRECTORY));
  return info;
}

// Temporary files end with the process that writes them.
void RemoveLeftovers(const std::string& prefix) {
  const std::filesystem::path path(prefix);
  const std::string start = path.filename().string();
  std::error_code ignored;
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(start)) continue;
    // SQLite's own files beside it carry a suffix after the number.
    int owner = 0;
    std::from_chars(name.data() + start.size(), name.data() + name.size(), owner);
    if (owner > 0 && kill(owner, 0) != 0 && errno == ESRCH) (void)unlink(entry.path().c_str());
  }
}

}  // namespace

Result<SnapshotInfo> WriteSnapshot(const std::string& log, const std::string& to) {
  MLC_TRY(CheckReplaceable(to, log));
  const std::string temporary = to + ".tmp." + std::to_string(getpid());
  RemoveLeftovers(to + ".tmp.");
  (void)unlink(temporary.c_str());
  Status copied = CopyTo(log, temporary);
  Result<SnapshotInfo> info = copied.ok() ? Publish(temporary, to) : Result<SnapshotInfo>(copied);
  if (!info.ok()) (void)unlink(temporary.c_str());
  return info;
}

}  // namespace mlc::db
