#include "base/file_access.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace mlc {
namespace {

StatusCode CodeOf(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return StatusCode::kNotFound;
    case EACCES:
    case EPERM:
    case EROFS:
      return StatusCode::kPermissionDenied;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return StatusCode::kResourceExhausted;
    default:
      return StatusCode::kUnavailable;
  }
}

std::string Octal(mode_t mode) {
  std::string text = "0";
  for (int shift = 6; shift >= 0; shift -= 3) text += static_cast<char>('0' + (mode >> shift & 7));
  return text;
}

// Numbers, not names: looking names up may ask a network.
std::string WhoseItIs(const std::string& path) {
  const std::string me = std::to_string(geteuid());
  struct stat file;
  if (stat(path.c_str(), &file) != 0) {
    return "user " + me + ", who runs this program, cannot use its folder";
  }
  return "it belongs to user " + std::to_string(file.st_uid) + " and group " +
         std::to_string(file.st_gid) + " with mode " + Octal(file.st_mode) +
         ", and this program runs as user " + me + ": chown it to that user";
}

}  // namespace

Status CannotOpen(const std::string& doing, const std::string& path, int error) {
  std::string message = doing + " " + path + ": " + strerror(error);
  if (error == EACCES || error == EPERM) message += "; " + WhoseItIs(path);
  return Status(CodeOf(error), std::move(message));
}

}  // namespace mlc
