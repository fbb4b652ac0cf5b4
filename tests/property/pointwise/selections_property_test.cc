// Selections of elements and boxes, which only CPUs have kernels for, as the other tests of
// pointwise workloads do it.
#include <gtest/gtest.h>

#include "tests/property/kernel_check/kernel_check.h"
#include "tests/workloads/pointwise.h"

namespace mlc::schedule {
namespace {

TEST(PointwiseProperty, Selections) {
  Rng rng(9);
  for (int i = 0; i < 60 && !HasFailure(); ++i) CheckFamily(rng, RandomSelection(rng), "pointwise");
}

}  // namespace
}  // namespace mlc::schedule
