#include "db/replaceable.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace mlc::db {
namespace {

Status Refuse(const std::string& to, const std::string& why) {
  return Unwritable("cannot write " + to + ": " + why);
}

}  // namespace

Status CheckReplaceable(const std::string& to, const std::string& log) {
  const std::filesystem::path folder = std::filesystem::path(to).parent_path();
  if (access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) != 0) {
    return Refuse(to, strerror(errno));
  }
  std::error_code absent;
  if (std::filesystem::equivalent(to, log, absent)) return Refuse(to, "it is the log itself");
  if (!std::filesystem::is_regular_file(to, absent)) return Status();
  for (const char* beside : {".lock", "-wal"}) {
    if (access((to + beside).c_str(), F_OK) != 0) continue;
    return Refuse(to, "it is a tuning log in use: name another file");
  }
  return Status();
}

}  // namespace mlc::db
