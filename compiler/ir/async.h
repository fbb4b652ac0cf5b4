// Copies of whole tiles to shared memory that arrive at a barrier in shared memory, and that
// barrier: statements of the kernel IR (ir.h), on devices of arch sm_90a. Values.
//
// An mbarrier counts phases: the first is 0. A phase completes when as many threads have arrived as
// mbarrier_init says and all bytes that they announced have come; the next begins then. Who waits
// for a phase sees what those who arrived in it had seen, what their warps had done before their
// last warp_barrier, and what its copies brought.
//
// A buffer that copy_bulk or copy_tensor writes is touched by nothing else but warpgroup_mma, which
// has waited for the copies. They may write it again once every product that reads it has ended,
// and the copying thread has waited for a phase at which the product's warps arrived after that.
//
// In a cluster, a copy may bring the same values to several blocks: to the same place of each, and
// it signals the same barrier of each. A thread may also arrive at another block's barrier. A
// cluster_barrier lies between such uses and the mbarrier_init, and another one after them, for no
// block to leave while others may still write to its memory.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/ir/expr.h"

namespace mlc::ir {

// Block-collective; the barrier's first use.
struct MbarrierInit {
  BufferId barrier;
  ExprRef index;
  int64_t arrivals = 1;
};
// Each thread that runs this arrives once, and announces so many bytes of copies.
struct MbarrierArrive {
  BufferId barrier;
  ExprRef index;
  int bytes = 0;
  // The block of the cluster whose barrier it is, which then announces nothing; null: this one.
  ExprRef rank = nullptr;
};
// Until the phase of this parity (0 or 1), of the current one and the one before, is complete.
// Printed with a bound, after which the kernel traps.
struct MbarrierWait {
  BufferId barrier;
  ExprRef index;
  ExprRef parity;
};
// Copies `elements` consecutive elements, a multiple of 16 bytes, both ends aligned to that, from
// a global buffer to shared memory, and signals their bytes to the barrier.
struct CopyBulk {
  BufferId to;
  ExprRef to_index;
  BufferId from;
  ExprRef from_index;
  int elements = 0;
  BufferId barrier;
  ExprRef barrier_index;
  ExprRef ranks = nullptr;  // bit r: to the block of rank r; null: to this one
};
// One more dimension of rows: `extent` matrices `pitch` elements apart, of which a copy takes `box`
// from `at` on, every `step`th (0: each).
struct BoxAxis {
  ExprRef at;
  int box = 0;
  int64_t extent = 0;
  int64_t pitch = 0;
  int step = 0;
};
// The global buffer is a matrix of `rows` rows of `depth` elements, `pitch` apart. Copies `box`
// rows (at most 256) of 128 bytes, from (row, k) on, to shared memory at an index aligned to 1024
// bytes, where 16-byte piece p of row r lies at piece p ^ (r % 8), as warpgroup_mma takes it. What
// lies outside the matrix is zero, and signalled with the rest. After make_tensor_maps of the warp.
// With `outer`, from the inner to the outermost dimension, rows of a box of such matrices follow
// each other.
struct CopyTensor {
  BufferId to;
  ExprRef to_index;
  BufferId from;
  ExprRef row;
  ExprRef k;
  int box = 0;
  int64_t rows = 0;
  int64_t depth = 0;
  int64_t pitch = 0;
  BufferId barrier;
  ExprRef barrier_index;
  ExprRef ranks = nullptr;  // as of CopyBulk
  int step = 0;             // of rows, as of a BoxAxis
  std::vector<BoxAxis> outer = {};

  // Rows that it brings.
  int64_t AllRows() const {
    int64_t count = box;
    for (const BoxAxis& axis : outer) count *= axis.box;
    return count;
  }
};

}  // namespace mlc::ir
