// Random pooling workloads agree with the reference, interpreted for random targets and compiled
// for this machine.
#include <gtest/gtest.h>

#include "tests/property/kernel_check/kernel_check.h"
#include "tests/workloads/pool.h"

namespace mlc::schedule {
namespace {

TEST(WindowProperty, PoolsOfAnyShapeAndLayout) {
  Rng rng(41);
  for (int i = 0; i < 80 && !HasFailure(); ++i) CheckFamily(rng, RandomPool(rng), "window");
}

}  // namespace
}  // namespace mlc::schedule
