// The asynchronous copies of one thread of an interpreted GPU kernel to shared memory, in the
// groups that its commits form. Not thread-safe; borrows the memories.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "compiler/ir/interpret/gpu_memory.h"

namespace mlc::ir {

class GpuCopies {
 public:
  struct Copy {
    GpuMemory* to = nullptr;
    int64_t index = 0;
    int lanes = 0;
    std::array<Lane, 16> values;  // read when the copy is issued
    int64_t group = 0;
  };

  void Add(const Copy& copy) {
    under_way_.push_back(copy);
    under_way_.back().group = committed_;
  }
  void Commit() { ++committed_; }
  // Completes all committed groups but the last `pending`. True if there were any.
  bool Wait(int pending, int thread) {
    size_t landed = 0;
    for (; landed < under_way_.size(); ++landed) {
      const Copy& copy = under_way_[landed];
      if (copy.group >= committed_ - pending) break;
      copy.to->Land(copy.index, copy.lanes, thread, copy.values.data());
    }
    under_way_.erase(under_way_.begin(), under_way_.begin() + static_cast<ptrdiff_t>(landed));
    return landed > 0;
  }
  void EndBlock() {
    for (const Copy& copy : under_way_) copy.to->Drop(copy.index, copy.lanes);
    under_way_.clear();
    committed_ = 0;
  }

 private:
  std::vector<Copy> under_way_;  // in the order of issue
  int64_t committed_ = 0;        // groups
};

}  // namespace mlc::ir
