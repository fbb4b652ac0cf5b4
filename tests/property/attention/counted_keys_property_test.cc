// Attention over the first of the keys that there is room for, which only CPUs have kernels for, as
// the other tests of attention do it.
#include <gtest/gtest.h>

#include "tests/property/kernel_check/kernel_check.h"
#include "tests/workloads/attention.h"

namespace mlc::schedule {
namespace {

TEST(AttentionProperty, FewerKeysThanThereIsRoomFor) {
  Rng rng(35);
  for (int i = 0; i < 30 && !HasFailure(); ++i) {
    CheckFamily(rng, RandomCountedAttention(rng), "attention");
  }
}

}  // namespace
}  // namespace mlc::schedule
