// Memory of one trial: buffers poisoned with 0xff (NaN as any float) and surrounded by guard zones
// that tell afterwards whether a kernel wrote past an end. Reused from trial to trial. Not
// thread-safe.
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

  // Forgets all buffers; there is room for these sizes afterwards.
  Status Reset(std::span<const int64_t> sizes);
  // The next buffer, in the order of `sizes`: aligned to 64 bytes, poisoned. `what` is for
  // GuardError.
  std::byte* Take(int64_t bytes, std::string what);
  // Empty, or which buffer's end was overrun.
  std::string GuardError() const;

 private:
  struct Buffer {
    std::byte* begin;
    std::byte* end;        // of the buffer
    std::byte* guard_end;  // of the zone behind it
    std::string what;
  };
  std::byte* memory_ = nullptr;
  size_t capacity_ = 0;
  size_t used_ = 0;
  std::vector<Buffer> buffers_;
};

}  // namespace mlc::worker
