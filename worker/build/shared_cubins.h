// The access of build children to the cache of device code. A sandboxed child opens no files: it
// asks the engine for the device code of a source, and sends what it had to compile itself. Only
// the engine reads and writes files; it names them by the source that the child sent. Not
// thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/build/cubin_cache.h"
#include "compiler/build/nvrtc.h"

namespace mlc::worker {

// The channel of one child. Open it before the fork.
class CubinExchange {
 public:
  static Result<std::unique_ptr<CubinExchange>> Open();
  ~CubinExchange();
  CubinExchange(const CubinExchange&) = delete;
  CubinExchange& operator=(const CubinExchange&) = delete;

  // Child side: the descriptors to keep, and a compiler that asks the engine before it compiles.
  // `nvrtc` and this object must outlive the compiler.
  std::vector<int> ChildDescriptors() const { return {child_, answer_}; }
  std::unique_ptr<build::Nvrtc> Compiler(build::Nvrtc& nvrtc) const;

  // Parent side, after the fork. The descriptor is readable when the child asks or sends device
  // code.
  void CloseChildSide();
  int fd() const { return parent_; }

 private:
  friend class SharedCubins;
  CubinExchange(int parent, int child, int answer)
      : parent_(parent), child_(child), answer_(answer) {}

  int parent_;
  int child_;
  int answer_;  // shared memory for the found device code
  std::string received_;
  std::optional<Digest> missing_;  // the last request that had no entry
  bool asked_ = false;
};

// The engine's side: the cache and its statistics.
class SharedCubins {
 public:
  // Uses the cache in `folder`. An empty path disables the cache; so does an unusable folder, with
  // a warning.
  explicit SharedCubins(const std::string& folder);

  bool used() const { return cache_.has_value(); }
  // Handles the messages of the child; does not block. `nvrtc` is the compiler that the child uses.
  void Serve(CubinExchange& exchange, const build::Nvrtc& nvrtc);
  // A new warning for the user; empty if there is none.
  std::string TakeWarning() { return std::exchange(warning_, {}); }
  // "120 of 2000 kernels from the cache"; empty before the first one.
  std::string ToText() const;

 private:
  void Answer(CubinExchange& exchange, const build::Nvrtc& nvrtc, std::string_view question);
  void Keep(CubinExchange& exchange, std::string_view bytes);

  std::optional<build::CubinCache> cache_;
  std::string warning_;
  bool warned_ = false;
  int64_t found_ = 0;
  int64_t asked_ = 0;
  int64_t kept_bytes_ = 0;  // since the last Trim
};

}  // namespace mlc::worker
