#include "client/local/private_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace mlc::client {
namespace {

constexpr char kPrefix[] = "mlc-tune-";
constexpr char kMarker[] = "/owner";
constexpr int kTries = 100;

void Remove(const std::string& path) {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

bool IsOurs(const std::string& path) {
  struct stat info;
  return lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid();
}

// A folder whose marker is not locked has lost its owner; one without a marker never had one, and
// is empty. An owner that is about to lock its marker finds the folder gone and makes another one.
void RemoveIfStale(const std::string& path) {
  if (!IsOurs(path)) return;
  const int marker = open((path + kMarker).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (marker < 0) {
    if (errno == ENOENT) (void)rmdir(path.c_str());
    return;
  }
  if (flock(marker, LOCK_EX | LOCK_NB) == 0) Remove(path);
  close(marker);
}

void RemoveStale(const std::string& parent) {
  std::error_code error;
  for (std::filesystem::directory_iterator it(parent, error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.starts_with(kPrefix)) RemoveIfStale(it->path().string());
  }
}

// The locked marker of a new folder; -1 if another process removed the folder as stale.
int Mark(const std::string& path) {
  const int marker = open((path + kMarker).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (marker < 0) return -1;
  struct stat info;
  if (flock(marker, LOCK_EX) == 0 && fstat(marker, &info) == 0 && info.st_nlink > 0) return marker;
  close(marker);
  return -1;
}

}  // namespace

std::string FolderForTemporaries() {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  return error ? "/tmp" : folder.string();
}

Result<PrivateFolder> PrivateFolder::Create(const std::string& parent) {
  RemoveStale(parent);
  std::string path;
  for (int i = 0; i < kTries; ++i) {
    path = parent + "/" + kPrefix + "XXXXXX";
    if (mkdtemp(path.data()) == nullptr) break;
    const int marker = Mark(path);
    if (marker >= 0) return PrivateFolder(std::move(path), marker);
    if (access(path.c_str(), F_OK) == 0) break;  // not removed by another process: the disk fails
  }
  return Unwritable("cannot create a folder like " + path + ": " + strerror(errno));
}

PrivateFolder::~PrivateFolder() {
  if (lock_ < 0) return;
  Remove(path_);
  close(lock_);
}

}  // namespace mlc::client
