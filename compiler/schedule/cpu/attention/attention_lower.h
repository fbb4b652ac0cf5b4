// Kernel IR of attention. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "compiler/schedule/space/family.h"

namespace mlc::schedule {

// The operand that is the number of keys.
inline constexpr size_t kAttentionKeys = 4;

struct AttentionProblem {
  graph::ValueId anchor = 0;
  int64_t batch = 1, heads = 1;
  int64_t queries = 1, keys = 1;  // S, T
  int64_t depth = 1, width = 1;   // D of q and k, E of v
  double scale = 1;
  bool masked = false;
  bool counted = false;  // the number of keys is an operand; `keys` is the most of them

  int64_t Heads() const { return batch * heads; }
  // Operations of both products; a multiply-add counts two.
  double Flops() const;
};

struct AttentionKnobs {
  int rows = 6;
  int key_vectors = 2;
  int value_vectors = 2;
  int64_t splits = 1;
  int unroll = 2;
};

// Empty if the workload is not a single attention, or if its parts cannot be emitted.
std::optional<AttentionProblem> FindAttention(const graph::Workload& workload);

LoweredKernel LowerAttention(const graph::Workload& workload, const target::Target& target,
                             const AttentionProblem& problem, const AttentionKnobs& knobs);

}  // namespace mlc::schedule
