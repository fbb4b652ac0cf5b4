// A cache of device code on disk, keyed by what it was compiled from. Files are named by digests,
// contain them and are replaced atomically, so that processes may share a folder. An unreadable,
// damaged or foreign file counts as absent. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/digest.h"
#include "base/status.h"
#include "compiler/build/nvrtc.h"

namespace mlc::build {

inline constexpr int64_t kCubinCacheBytes = int64_t{1} << 30;

class CubinCache {
 public:
  // Opens the cache and creates its folder. Trim() keeps the total size of the files within
  // `max_bytes`.
  static Result<CubinCache> Open(const std::string& folder, int64_t max_bytes = kCubinCacheBytes);

  // The key of source, architecture, options, and the version and file size of the compiler,
  // because its patch releases have no numbers.
  static Digest KeyOf(const Nvrtc& nvrtc, const std::string& source, const std::string& arch);

  // Finds an entry and marks it as just used, if the folder is writable.
  std::optional<CudaBinary> Find(const Digest& key) const;
  // RESOURCE_EXHAUSTED or FAILED_PRECONDITION if it cannot be stored.
  Status Put(const Digest& key, const CudaBinary& binary) const;
  // Removes the least recently used files until the rest is within the bound (the newest one
  // stays), and files of writers that died. It reads the whole folder, so call it rarely, not after
  // every Put.
  void Trim() const;

  struct Size {
    int64_t files = 0;
    int64_t bytes = 0;
  };
  Size Measure() const;
  const std::string& folder() const { return folder_; }
  int64_t max_bytes() const { return max_bytes_; }

 private:
  CubinCache(std::string folder, int64_t max_bytes)
      : folder_(std::move(folder)), max_bytes_(max_bytes) {}
  std::string PathOf(const Digest& key) const;

  std::string folder_;
  int64_t max_bytes_;
};

// The folder for the value of a program's flag: "off" gives none (empty). An empty value gives the
// default of the environment ($CACHE_DIRECTORY, as systemd sets it, $XDG_CACHE_HOME, $HOME/.cache),
// or none if no variable is set. `use` is the folder inside it. Each kind of use has its own, so
// that device code of a build child, which compiles what a server sent, cannot get into a library.
std::string CubinFolder(const std::string& flag, const std::string& use,
                        const std::function<const char*(const char*)>& environment);

}  // namespace mlc::build
