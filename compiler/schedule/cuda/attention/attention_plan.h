// The mapping of attention to a GPU. A block takes 16 queries per warp of one head, and keys in
// chunks in shared memory. A warp takes one block of keys at a time through scores, a running
// softmax and the output, all in the fragments of its matrix unit. Values wider than a slice are
// split over blocks. The blocks of a cluster may share queries and have each their part of the
// keys. Thread-safe.
#pragma once

#include <cstdint>
#include <optional>

#include "compiler/schedule/cpu/attention/attention_lower.h"
#include "compiler/schedule/space/family.h"

namespace mlc::schedule::gpu {

inline constexpr int kQueryRows = 16;  // of a warp

struct AttentionPlan {
  AttentionProblem problem;
  DType data = DType::kF32;  // f16, bf16, or f32 as tf32
  int passes = 3;            // of tf32: 1, or 3 for the accuracy of f32
  int warps = 1;
  int key_warps = 1;   // of `warps`: those that share 16 queries, each with its part of a chunk
  int key_block = 16;  // keys of a step
  int64_t chunk = 16;  // keys in shared memory
  int stages = 1;      // chunks in shared memory
  int split = 1;       // blocks of a cluster, which share the chunks

  int threads() const { return warps * 32; }
  int64_t rows() const { return int64_t{warps / key_warps} * kQueryRows; }
  int step() const { return data == DType::kF32 ? 8 : 16; }  // depth of one product
  int64_t depth() const;                                     // padded to whole steps
  int64_t slice() const;                                     // value columns of a block, padded
  int64_t slices() const;
  int64_t chunks() const;
  int64_t block_chunks() const { return chunks() / split; }  // REQUIRES: they divide
  // Elements between rows in shared memory, chosen so that adjacent rows use different banks.
  int64_t pitch(int64_t columns) const;
  int64_t blocks() const;
  int64_t block_bytes() const;
  int64_t registers() const;  // of a thread, an estimate
};

// A plan with the problem and data of the workload, and the smallest value of each knob.
std::optional<AttentionPlan> FindGpuAttention(const graph::Workload& workload);

LoweredKernel LowerGpuAttention(const graph::Workload& workload, const AttentionPlan& plan);

}  // namespace mlc::schedule::gpu
