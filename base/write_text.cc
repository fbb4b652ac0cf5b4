#include "base/write_text.h"

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

// Pipes, devices and links stay what they are, and a file may be in a folder of somebody else.
bool CanReplace(const std::string& path) {
  std::error_code absent;
  const auto there = std::filesystem::symlink_status(path, absent);
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  return (!exists(there) || is_regular_file(there)) &&
         access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) == 0;
}

}  // namespace

Status WriteText(const std::string& path, std::string_view text) {
  const bool replaced = CanReplace(path);
  const std::string written = replaced ? path + ".tmp." + std::to_string(getpid()) : path;
  int error = Write(written, text);
  if (replaced) {
    if (error == 0 && rename(written.c_str(), path.c_str()) != 0) error = errno;
    if (error != 0) (void)unlink(written.c_str());
  }
  if (error == 0) return Status();
  return Unwritable("cannot write '" + path + "': " + std::strerror(error));
}

}  // namespace mlc
