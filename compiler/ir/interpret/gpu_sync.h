// Barriers, asynchronous copies and arrivals of an interpreted GPU kernel. Not thread-safe; borrows
// the state and the parts of the interpreter that it calls.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "compiler/ir/interpret/gpu_clock.h"
#include "compiler/ir/interpret/gpu_expr.h"
#include "compiler/ir/interpret/gpu_products.h"
#include "compiler/ir/interpret/gpu_state.h"

namespace mlc::ir {

class GpuSync {
 public:
  GpuSync(GpuState& state, GpuExpressions& expressions, GpuProducts& products)
      : state_(state), expressions_(expressions), products_(products) {}

  void Do(const Sync& sync);
  void Do(const CopyAsync& copy);
  void Do(const Arrive& arrive);
  // Fails if a counter is left above zero. After a launch.
  void CheckCounters();

 private:
  // The arrivals at one counter since it was zero, and what the arriving blocks had published.
  struct Round {
    int64_t arrived = 0;
    std::vector<GpuClock::Span> seen;
  };

  void MakeTensorMaps();
  void CopyOne(const CopyAsync& copy, int thread, int64_t to, int64_t from, int active);

  GpuState& state_;
  GpuExpressions& expressions_;
  GpuProducts& products_;
  std::map<std::pair<BufferId, int64_t>, Round> rounds_;
};

}  // namespace mlc::ir
