// Shapes that only the families for GPUs treat specially: tiles of transposes, wide vectors of
// narrow types, reductions that blocks share, rows of several warps, attention over chunks of keys
// and slices of values. All agree with the reference.
#include <gtest/gtest.h>

#include "tests/property/kernel_check/kernel_check.h"
#include "tests/workloads/attention.h"
#include "tests/workloads/data_movement.h"
#include "tests/workloads/pointwise.h"
#include "tests/workloads/row_reduce.h"

namespace mlc::schedule {
namespace {

TEST(CudaShapes, TransposesThroughTiles) {
  Rng rng(51);
  for (int i = 0; i < 24 && !HasFailure(); ++i)
    CheckFamily(rng, RandomTransposeThroughTiles(rng), "pointwise", 4);
}

TEST(CudaShapes, WideVectors) {
  Rng rng(52);
  for (int i = 0; i < 24 && !HasFailure(); ++i)
    CheckFamily(rng, RandomWideVectors(rng), "pointwise", 4);
}

TEST(CudaShapes, ReductionsThatBlocksShare) {
  Rng rng(53);
  for (int i = 0; i < 24 && !HasFailure(); ++i)
    CheckFamily(rng, RandomSharedReduction(rng), "row_reduce", 4);
}

TEST(CudaShapes, RowsOfSeveralWarps) {
  Rng rng(54);
  for (int i = 0; i < 16 && !HasFailure(); ++i)
    CheckFamily(rng, RandomWideRows(rng), "row_reduce", 4);
}

TEST(CudaShapes, AttentionOverChunksAndSlices) {
  Rng rng(55);
  for (int i = 0; i < 16 && !HasFailure(); ++i)
    CheckFamily(rng, RandomLongAttention(rng), "attention", 4);
}

TEST(CudaShapes, AttentionWithCausalMasksOfItsOwn) {
  Rng rng(56);
  for (int i = 0; i < 16 && !HasFailure(); ++i)
    CheckFamily(rng, RandomCausalAttention(rng), "attention", 4);
}

// Keys and values behind their number are NaN.
TEST(CudaShapes, AttentionOverANumberOfKeys) {
  Rng rng(57);
  for (int i = 0; i < 24 && !HasFailure(); ++i)
    CheckFamily(rng, RandomCountedAttention(rng), "attention", 4);
}

}  // namespace
}  // namespace mlc::schedule
