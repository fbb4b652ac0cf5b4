// Random attention workloads agree with the reference, interpreted for random targets and compiled
// for this machine.
#include <gtest/gtest.h>

#include "tests/property/kernel_check/kernel_check.h"
#include "tests/workloads/attention.h"

namespace mlc::schedule {
namespace {

TEST(AttentionProperty, RandomShapesLayoutsAndMasks) {
  Rng rng(31);
  for (int i = 0; i < 40 && !HasFailure(); ++i) CheckFamily(rng, RandomAttention(rng), "attention");
}

TEST(AttentionProperty, ValuesOfOneColumn) {
  Rng rng(34);
  for (int i = 0; i < 10 && !HasFailure(); ++i) {
    CheckFamily(rng, RandomAttentionOfOneColumn(rng), "attention");
  }
}

TEST(AttentionProperty, ViewsOfOneProjection) {
  Rng rng(32);
  for (int i = 0; i < 10 && !HasFailure(); ++i)
    CheckFamily(rng, RandomProjectedAttention(rng), "attention");
}

TEST(AttentionProperty, MasksOfInfinities) {
  Rng rng(33);
  for (int i = 0; i < 20 && !HasFailure(); ++i) {
    CheckFamily(rng, RandomMaskedAttention(rng), "attention");
  }
}

}  // namespace
}  // namespace mlc::schedule
