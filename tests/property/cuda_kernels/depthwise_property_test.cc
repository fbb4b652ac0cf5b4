// Random depthwise convolutions on GPUs agree with the reference.
#include <gtest/gtest.h>

#include "tests/property/kernel_check/kernel_check.h"
#include "tests/workloads/contraction.h"

namespace mlc::schedule {
namespace {

TEST(CudaDepthwiseProperty, TilesOfAnyShape) {
  Rng rng(77);
  for (int i = 0; i < 120 && !HasFailure(); ++i) {
    CheckFamily(rng, {RandomDepthwise(rng).ToText()}, "depthwise");
  }
}

}  // namespace
}  // namespace mlc::schedule
