// A folder of this process alone in the folder for temporary files. It is removed at the end, and
// if the process is killed, by the next one that makes such a folder: a lock on a file in it tells
// folders in use from stale ones.
#pragma once

#include <string>
#include <utility>

#include "base/status.h"

namespace mlc::client {

// Where temporary files belong on this system.
std::string FolderForTemporaries();

class PrivateFolder {
 public:
  // "<parent>/mlc-tune-XXXXXX", after removing those that were left there. ALREADY_EXISTS with the
  // reason if it cannot be made.
  static Result<PrivateFolder> Create(const std::string& parent);
  PrivateFolder(PrivateFolder&& other) noexcept
      : path_(std::exchange(other.path_, {})), lock_(std::exchange(other.lock_, -1)) {}
  PrivateFolder& operator=(PrivateFolder&& other) = delete;
  ~PrivateFolder();

  const std::string& path() const { return path_; }

 private:
  PrivateFolder(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}

  std::string path_;
  int lock_;
};

}  // namespace mlc::client
