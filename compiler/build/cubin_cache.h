// Device code on disk, found by what it was compiled from. Files are named by digests, begin with
// them and are replaced in one step, so that processes may share a folder; what cannot be read, is
// damaged or belongs to another key counts as absent. Thread-safe.
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
  // Makes the folder if need be. Trim() keeps the files within `max_bytes` together.
  static Result<CubinCache> Open(const std::string& folder, int64_t max_bytes = kCubinCacheBytes);

  // Of source, architecture, options, and the compiler's version and size: its patches have no
  // numbers.
  static Digest KeyOf(const Nvrtc& nvrtc, const std::string& source, const std::string& arch);

  // Marks what it finds as just used, where the folder can be written.
  std::optional<CudaBinary> Find(const Digest& key) const;
  // RESOURCE_EXHAUSTED or FAILED_PRECONDITION when it cannot be kept.
  Status Put(const Digest& key, const CudaBinary& binary) const;
  // Removes the files used longest ago until the rest is within the bound (the newest one stays),
  // and what writers that died left. Reads the whole folder: for now and then, not for every Put.
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

// The folder that a program's flag names: "off" gives none (empty); an empty flag the usual place
// of the environment ($CACHE_DIRECTORY, as systemd sets it, $XDG_CACHE_HOME, $HOME/.cache), or none
// without any. `use` is the folder inside it: each kind of user has its own, so that a build child
// that compiles what a server sent has no way into a library.
std::string CubinFolder(const std::string& flag, const std::string& use,
                        const std::function<const char*(const char*)>& environment);

}  // namespace mlc::build
