// What a person decides about one worker.
#pragma once

#include <cstdint>

namespace mlc::server {

enum class AdminHoldKind : uint8_t {
  kNone,        // released: it gets trials again, after a test
  kDrain,       // it finishes what it holds and exits
  kQuarantine,  // it gets no trials until it is released
};

}  // namespace mlc::server
