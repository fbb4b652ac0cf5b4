#include "base/write_text.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace mlc {
namespace {

// 0, or why not (errno).
int Write(const std::string& path, std::string_view text) {
  errno = 0;
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
  out.close();
  if (out) return 0;
  return errno != 0 ? errno : EIO;
}

// Pipes, devices and links stay what they are, what is protected against writing stays as it is,
// and a file may be in another user's folder.
bool CanReplace(const std::string& path) {
  std::error_code absent;
  const auto there = std::filesystem::symlink_status(path, absent);
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  return (!exists(there) || (is_regular_file(there) && access(path.c_str(), W_OK) == 0)) &&
         access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) == 0;
}

// The permissions of the file at `path` for the one that takes its place. False: see errno.
bool CopyPermissions(const std::string& path, const std::string& written) {
  struct stat old = {};
  return stat(path.c_str(), &old) != 0 || chmod(written.c_str(), old.st_mode & 07777) == 0;
}

}  // namespace

Status WriteText(const std::string& path, std::string_view text) {
  const bool replaced = CanReplace(path);
  const std::string written = replaced ? path + ".tmp." + std::to_string(getpid()) : path;
  int error = Write(written, text);
  if (replaced) {
    const bool done = error != 0 || (CopyPermissions(path, written) &&
                                     rename(written.c_str(), path.c_str()) == 0);
    if (!done) error = errno;
    if (error != 0) (void)unlink(written.c_str());
  }
  if (error == 0) return Status();
  return Unwritable("cannot write '" + path + "': " + std::strerror(error));
}

}  // namespace mlc
