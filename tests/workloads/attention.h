// Random attention.
#pragma once

#include "base/rng.h"
#include "tests/workloads/random_workload.h"

namespace mlc::schedule {

// Small, of any layout, with masks of any shape.
RandomWorkload RandomAttention(Rng& rng);
// The same with values of one column.
RandomWorkload RandomAttentionOfOneColumn(Rng& rng);
// Queries, keys and values are views of one buffer; the result is written with heads merged.
RandomWorkload RandomProjectedAttention(Rng& rng);
// A mask of minus infinities that the kernel makes itself; rows may be masked altogether.
RandomWorkload RandomMaskedAttention(Rng& rng);
// The number of keys is an operand; keys and values behind it are NaN.
RandomWorkload RandomCountedAttention(Rng& rng);
// Long enough for chunks of keys, wide enough for slices of values.
RandomWorkload RandomLongAttention(Rng& rng);
// The same with a causal mask that the kernel makes itself.
RandomWorkload RandomCausalAttention(Rng& rng);
// Of f16 or bf16, heads as wide as warps with roles take them, operands and results in several
// orders, long enough for some tiles; some are causal, some have masks of numbers.
RandomWorkload RandomRoleAttention(Rng& rng);

}  // namespace mlc::schedule
