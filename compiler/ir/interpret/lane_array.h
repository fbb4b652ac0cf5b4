// Scalar operators over many lanes at once, and the temporary arrays that expressions over many
// threads need. Not thread-safe.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "compiler/ir/interpret/lane.h"
#include "compiler/types/dtype.h"
#include "compiler/types/scalar_op.h"

namespace mlc::ir {

// Applies ApplyLane to `count` lanes. `args`: one array per operand of the operator. Returns the
// first lane that divides by zero, or -1. `out` may be one of `args`.
int64_t ApplyLanes(ScalarOp op, DType dtype, size_t count, const Lane* const* args, Lane* out);

// A stack of arrays. A Frame releases all arrays that were taken after its construction.
class LaneStack {
 public:
  class Frame {
   public:
    explicit Frame(LaneStack& stack) : stack_(stack), chunk_(stack.chunk_), used_(stack.used_) {}
    ~Frame() {
      stack_.chunk_ = chunk_;
      stack_.used_ = used_;
    }
    Frame(const Frame&) = delete;
    Frame& operator=(const Frame&) = delete;

    Lane* Take(size_t count) { return stack_.Take(count); }

   private:
    LaneStack& stack_;
    size_t chunk_;
    size_t used_;
  };

 private:
  struct Chunk {
    std::unique_ptr<Lane[]> lanes;
    size_t size;
  };

  Lane* Take(size_t count);

  std::vector<Chunk> chunks_;
  size_t chunk_ = 0;
  size_t used_ = 0;  // of the current chunk
};

}  // namespace mlc::ir
