// Waiting for what a child process or a fleet of GPUs has to say, without sleeping.
#pragma once

#include <poll.h>

#include <vector>

#include "base/process/child.h"

namespace mlc::testing {

// Reads what the child sends until it has ended or closed its pipe.
inline void AwaitEnd(worker::Child& child) {
  while (child.Read()) {
    pollfd waiting = {child.pipe(), POLLIN, 0};
    (void)poll(&waiting, 1, -1);
  }
}

// Until `source` may have something to collect. Its deadlines are looked at when it collects, so
// this does not wait for long.
template <typename Source>
void AwaitNews(const Source& source) {
  constexpr int kMostMs = 10;
  std::vector<pollfd> waiting;
  source.AddTo(waiting);
  (void)poll(waiting.data(), waiting.size(), kMostMs);
}

}  // namespace mlc::testing
