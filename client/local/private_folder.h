// A private temporary folder of this process, which the destructor removes. A lock on a file in it
// marks a folder in use. If a process is killed, the next one that creates such a folder removes
// the old one. Not thread-safe.
#pragma once

#include <string>
#include <utility>

#include "base/status.h"

namespace mlc::client {

// The system's folder for temporary files.
std::string FolderForTemporaries();

class PrivateFolder {
 public:
  // Creates "<parent>/mlc-tune-XXXXXX", after removing stale ones. UNWRITABLE with the reason
  // if it cannot.
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
