#include "base/html/write_page.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <ios>
#include <system_error>

namespace mlc::html {
namespace {

Status CannotWrite(const std::string& path, const std::string& why) {
  return Unwritable("cannot write " + path + ": " + why);
}

}  // namespace

Status CheckPageWritable(const std::string& path) {
  std::error_code absent;
  if (path.empty()) return CannotWrite(path, "the path is empty");
  if (std::filesystem::is_directory(path, absent)) return CannotWrite(path, "it is a folder");
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) != 0) {
    return CannotWrite(path, strerror(errno));
  }
  return Status();
}

Status WritePage(const std::string& path, std::string_view text) {
  std::error_code absent;
  const auto there = std::filesystem::symlink_status(path, absent);
  const bool replaced = !exists(there) || is_regular_file(there);
  if (replaced) MLC_TRY(CheckPageWritable(path));
  const std::string written = replaced ? path + ".tmp." + std::to_string(getpid()) : path;
  errno = 0;
  std::ofstream out(written, std::ios::trunc | std::ios::binary);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
  out.close();
  Status status;
  if (!out) {
    status = CannotWrite(path, errno != 0 ? strerror(errno) : "writing failed");
  } else if (replaced && rename(written.c_str(), path.c_str()) != 0) {
    status = CannotWrite(path, strerror(errno));
  }
  if (!status.ok() && replaced) (void)unlink(written.c_str());
  return status;
}

}  // namespace mlc::html
