#include "base/html/write_page.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/write_text.h"

namespace mlc::html {
namespace {

Status CannotWrite(const std::string& path, const std::string& why) {
  return Unwritable("cannot write '" + path + "': " + why);
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
  if (!exists(there) || is_regular_file(there)) MLC_TRY(CheckPageWritable(path));
  return WriteText(path, text);
}

}  // namespace mlc::html
