// The memory of a trial: guarded buffers that are poisoned with 0xff (NaN as any float), so that
// writes past an end and unwritten elements are found. Trials reuse the memory. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"

namespace mlc::worker {

class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena();

  // Releases all buffers and makes room for buffers of these sizes.
  Status Reset(std::span<const int64_t> sizes);
  // Returns the next buffer, in the order of `sizes`: aligned to 64 bytes and poisoned. `what`
  // names it in GuardError.
  std::byte* Take(int64_t bytes, std::string what);
  // Which buffer was overrun; empty if none was.
  std::string GuardError() const;

 private:
  struct Buffer {
    std::byte* begin;
    std::byte* end;        // of the buffer
    std::byte* guard_end;  // of the guard zone behind it
    std::string what;
  };
  std::byte* memory_ = nullptr;
  size_t capacity_ = 0;
  size_t used_ = 0;
  std::vector<Buffer> buffers_;
};

}  // namespace mlc::worker
