// Device code on disk, found by what it was compiled from. Files are named by digests and replaced
// in one step, so that processes may share a folder; what cannot be read counts as absent. Bounded:
// the files used longest ago go first. Thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "compiler/base/digest.h"
#include "compiler/base/status.h"
#include "compiler/build/nvrtc.h"

namespace mlc::build {

class CubinCache {
 public:
  // Makes the folder if need be. `max_bytes` bounds the files together; the newest one always
  // stays.
  static Result<CubinCache> Open(const std::string& folder, int64_t max_bytes);

  // Of source, architecture, the compiler's version and its options.
  static Digest KeyOf(const Nvrtc& nvrtc, const std::string& source, const std::string& arch);

  std::optional<CudaBinary> Find(const Digest& key) const;
  Status Put(const Digest& key, const CudaBinary& binary) const;

 private:
  CubinCache(std::string folder, int64_t max_bytes)
      : folder_(std::move(folder)), max_bytes_(max_bytes) {}
  std::string PathOf(const Digest& key) const;
  void Evict() const;

  std::string folder_;
  int64_t max_bytes_;
};

// From the cache, or compiled and kept. A cache that cannot be written is no error.
Result<CudaBinary> CompileCached(const CubinCache& cache, Nvrtc& nvrtc, const std::string& source,
                                 const std::string& arch);

}  // namespace mlc::build
