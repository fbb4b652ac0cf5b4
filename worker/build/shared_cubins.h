// The way of build children, which open no files, to the cache of device code: a child asks for
// what a source compiles to, and hands over what it had to compile itself. The engine answers; it
// alone reads and writes files, and names them by the source that the child sent. Not thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/build/cubin_cache.h"
#include "compiler/build/nvrtc.h"

namespace mlc::worker {

// One child's way, opened before the fork.
class CubinExchange {
 public:
  static Result<std::unique_ptr<CubinExchange>> Open();
  ~CubinExchange();
  CubinExchange(const CubinExchange&) = delete;
  CubinExchange& operator=(const CubinExchange&) = delete;

  // In the child. The descriptors that it keeps, and a compiler that asks before it compiles;
  // `nvrtc` and this object outlive it.
  std::vector<int> ChildDescriptors() const { return {child_, answer_}; }
  std::unique_ptr<build::Nvrtc> Compiler(build::Nvrtc& nvrtc) const;

  // In the parent, after the fork. For poll(): readable when the child asks or hands over.
  void CloseChildSide();
  int fd() const { return parent_; }

 private:
  friend class SharedCubins;
  CubinExchange(int parent, int child, int answer)
      : parent_(parent), child_(child), answer_(answer) {}

  int parent_;
  int child_;
  int answer_;  // memory that holds what was found
  std::string received_;
  std::optional<Digest> missing_;  // asked for and not found
  bool asked_ = false;
};

// The engine's side: the cache, and what came of it.
class SharedCubins {
 public:
  // Of a folder; empty: nothing is found and nothing kept. A folder that cannot be used is the
  // same, with a warning.
  explicit SharedCubins(const std::string& folder);

  bool used() const { return cache_.has_value(); }
  // Takes what the child sent; does not block. `nvrtc` is the compiler that it uses.
  void Serve(CubinExchange& exchange, const build::Nvrtc& nvrtc);
  // What people should know, once; empty: nothing new.
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
