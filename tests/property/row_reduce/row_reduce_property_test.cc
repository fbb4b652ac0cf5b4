// Random softmax, layer norm and reduction workloads with prologues and epilogues agree with the
// reference, interpreted for random targets and compiled for this machine.
#include <gtest/gtest.h>

#include "tests/property/kernel_check/kernel_check.h"
#include "tests/workloads/row_reduce.h"

namespace mlc::schedule {
namespace {

TEST(RowReduceProperty, Softmax) {
  Rng rng(11);
  for (int i = 0; i < 60 && !HasFailure(); ++i) CheckFamily(rng, RandomSoftmax(rng), "row_reduce");
}

TEST(RowReduceProperty, LayerNorm) {
  Rng rng(12);
  for (int i = 0; i < 60 && !HasFailure(); ++i)
    CheckFamily(rng, RandomLayerNorm(rng), "row_reduce");
}

TEST(RowReduceProperty, Reductions) {
  Rng rng(13);
  for (int i = 0; i < 100 && !HasFailure(); ++i)
    CheckFamily(rng, RandomReduction(rng), "row_reduce");
}

TEST(RowReduceProperty, PartsOfLongRows) {
  Rng rng(15);
  for (int i = 0; i < 24 && !HasFailure(); ++i)
    CheckFamily(rng, RandomLongRows(rng), "row_reduce", 4);
}

TEST(RowReduceProperty, NormsOfImages) {
  Rng rng(16);
  for (int i = 0; i < 24 && !HasFailure(); ++i)
    CheckFamily(rng, RandomImageNorms(rng), "row_reduce", 4);
}

TEST(RowReduceProperty, FullyMaskedRowsFollowPlainArithmetic) {
  Rng rng(14);
  for (int i = 0; i < 20 && !HasFailure(); ++i)
    CheckFamily(rng, RandomMaskedRows(rng), "row_reduce");
}

}  // namespace
}  // namespace mlc::schedule
