#include "base/process/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>

#include "base/file_access.h"

namespace mlc::db {
namespace {

// Magic numbers of statfs(2).
constexpr std::array<unsigned, 5> kNetworkFileSystems = {
    0x6969,      // NFS
    0xff534d42,  // CIFS
    0xfe534d42,  // SMB2
    0x517b,      // SMB
    0x01021997,  // 9p
};

Status RefuseNetwork(int fd, const std::string& path) {
  struct statfs info;
  if (fstatfs(fd, &info) != 0) return Status();
  for (unsigned magic : kNetworkFileSystems) {
    if (static_cast<unsigned>(info.f_type) == magic) {
      return InvalidArgument("tuning log " + path +
                             " lies on a network file system: keep it on a local disk and share "
                             "snapshots (mlc-log snapshot)");
    }
  }
  return Status();
}

std::string HolderOf(int fd) {
  std::array<char, 32> text{};
  const ssize_t size = pread(fd, text.data(), text.size() - 1, 0);
  std::string holder(text.data(), size > 0 ? static_cast<size_t>(size) : 0);
  while (!holder.empty() && holder.back() == '\n') holder.pop_back();
  return holder.empty() ? "unknown" : holder;
}

// False where it cannot be told.
bool HasEnded(const std::string& holder) {
  pid_t pid = 0;
  const auto [end, error] = std::from_chars(holder.data(), holder.data() + holder.size(), pid);
  if (error != std::errc() || pid <= 0) return false;
  return kill(pid, 0) != 0 && errno == ESRCH;
}

// A child that a killed holder had just forked has its lock, too, until it becomes another program.
bool TakeLock(int fd) {
  constexpr std::chrono::seconds kTimeout(10);
  constexpr std::chrono::milliseconds kBetweenTries(10);
  const auto end = std::chrono::steady_clock::now() + kTimeout;
  while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (!HasEnded(HolderOf(fd)) || std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(kBetweenTries);
  }
  return true;
}

}  // namespace

Result<FileLock> FileLock::Take(const std::string& path) {
  const std::string name = path + ".lock";
  const int fd = open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) {
    const Status why = CannotOpen("cannot create", name, errno);
    const bool missing = why.code() == StatusCode::kNotFound;
    return missing ? Unwritable(why.message()) : why;
  }
  FileLock lock(fd);
  MLC_TRY(RefuseNetwork(fd, path));
  if (!TakeLock(fd)) {
    return Status(StatusCode::kAborted, "another mlc-server uses this log: pid " + HolderOf(fd) +
                                            " holds " + name +
                                            "; connect to it with --server, or stop it");
  }
  const std::string pid = std::to_string(getpid()) + "\n";
  if (ftruncate(fd, 0) != 0 ||
      pwrite(fd, pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
    // The name of the holder is only for messages: a full disk must not keep the log from opening.
  }
  return lock;
}

FileLock::FileLock(FileLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
FileLock& FileLock::operator=(FileLock&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}
FileLock::~FileLock() {
  if (fd_ >= 0) close(fd_);
}

}  // namespace mlc::db
