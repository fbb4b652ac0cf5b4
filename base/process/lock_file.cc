#include "base/process/lock_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

namespace mlc::worker {
namespace {

Status Refused(const std::string& path, const std::string& why) {
  return FailedPrecondition("cannot open " + path + ": " + why);
}

std::string Describe(int process) {
  const std::string folder = "/proc/" + std::to_string(process);
  struct stat owner = {};
  std::string name;
  std::ifstream(folder + "/comm") >> name;
  std::string text = "process " + std::to_string(process);
  for (char& c : name) c = c < ' ' || c == 0x7f ? '?' : c;
  if (!name.empty()) text += " (" + name + ")";
  if (stat(folder.c_str(), &owner) == 0) text += " of user " + std::to_string(owner.st_uid);
  return text;
}

}  // namespace

Result<int> OpenLockFile(const std::string& path, bool make) {
  // Locking needs no right to write, and a file of another user in a shared folder must not be
  // opened as one that may have to be made.
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
  constexpr mode_t kForAll = 0644;
  int file = -1;
  for (int attempt = 0; attempt < 2 && file < 0; ++attempt) {
    file = open(path.c_str(), kFlags);
    if (file >= 0 || !make || errno != ENOENT) continue;
    file = open(path.c_str(), kFlags | O_CREAT | O_EXCL, kForAll);
    // Independent of this process's umask: the folder decides on access.
    if (file >= 0) (void)fchmod(file, kForAll);
  }
  if (file < 0) return Refused(path, errno == ELOOP ? "it is a symbolic link" : strerror(errno));
  struct stat found = {};
  if (fstat(file, &found) == 0 && S_ISREG(found.st_mode)) return file;
  close(file);
  return Refused(path, "it is no file");
}

std::string HolderOf(int file) {
  struct stat found = {};
  if (fstat(file, &found) != 0) return "an unknown process";
  char place[64];
  std::snprintf(place, sizeof(place), "%02x:%02x:%llu", major(found.st_dev), minor(found.st_dev),
                static_cast<unsigned long long>(found.st_ino));
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words(line);
    std::string number, kind, advisory, mode, at;
    int process = 0;
    words >> number >> kind >> advisory >> mode >> process >> at;
    // Those who wait have an arrow in place of the kind.
    if (words && kind == "FLOCK" && at == place && process > 0) return Describe(process);
  }
  return "a process that this system does not show";
}

}  // namespace mlc::worker
