// Runs a kernel slowly and exactly: f32 arithmetic rounds to f32 after each operation, kFma once,
// special functions through double; lanes reduce in order. Each access is checked: outside a buffer
// (OUT_OF_RANGE); of an element never written, where registers, thread and shared memory end with
// the iteration or block (FAILED_PRECONDITION); a race on a written element (ABORTED). Also an
// integer division by zero (OUT_OF_RANGE) and a streaming store that is not aligned
// (FAILED_PRECONDITION). The text names kernel, buffer, index and iteration, or thread, block and
// launch. Both arms of a select are evaluated. Thread-safe (no shared state).
//
// GPU kernels: blocks run in order, those of a cluster in turn from one cluster_barrier to the
// next, the threads of a block in lockstep; where a branch or a loop splits them, one part after
// the other. mma sums c and the products in double in the order of k and rounds to f32 once.
// FAILED_PRECONDITION, beside the above: a collective statement without all threads of its warp or
// block; an arrival with several indices; a counter that a launch leaves above zero; a copy or a
// matrix row that is not aligned (buffers are taken to begin aligned); an access where a copy is
// under way (it ends at its thread's wait); a read of memory that an overlay has taken; an output,
// scratch or counter touched before await_inputs. Races: threads of a block are ordered by barrier,
// threads of a warp also by warp_barrier, and by nothing else (neither shuffles, mma nor arrive);
// load_matrix reads a row as the thread that gives its place; all of a buffer must be done with
// before an overlay takes its memory. Blocks of a launch are ordered by arrive alone: the last
// arrival comes after all that the other blocks did before they arrived. Blocks of a cluster are
// also ordered by cluster_barrier, and a load_peer of another block after the last one is
// FAILED_PRECONDITION: that block may have left.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/status.h"
#include "compiler/ir/ir.h"

namespace mlc::ir {

// `params`: the bytes of the kIn and kOut buffers, in order, each at least as large as its buffer;
// kOut are written in place. INVALID_ARGUMENT when they do not fit or the kernel does not verify.
// `limit`: of a kernel that takes one.
Status Interpret(const Kernel& kernel, std::span<const std::span<std::byte>> params,
                 int64_t limit = kNoLimit);

}  // namespace mlc::ir
