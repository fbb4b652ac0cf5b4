#include "transport/file_stamp.h"

#include <sys/stat.h>

namespace mlc::transport {

std::string StampOf(const std::string& path) {
  struct stat file;
  if (stat(path.c_str(), &file) != 0) return "";
  return std::to_string(file.st_ino) + " " + std::to_string(file.st_size) + " " +
         std::to_string(file.st_mtim.tv_sec) + " " + std::to_string(file.st_mtim.tv_nsec);
}

}  // namespace mlc::transport
