// The decision of an administrator about one worker.
#pragma once

#include <cstdint>

namespace mlc::server {

enum class AdminHoldKind : uint8_t {
  kNone,        // released: it gets trials again after a canary
  kDrain,       // it finishes what it holds and exits
  kQuarantine,  // it gets no trials until it is released
};

}  // namespace mlc::server
