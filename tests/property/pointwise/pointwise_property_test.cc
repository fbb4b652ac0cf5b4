// Random pointwise and data-movement workloads: what the family generates agrees with the
// reference, interpreted for random targets and compiled for this machine.
#include <gtest/gtest.h>

#include "tests/property/kernel_check/kernel_check.h"
#include "tests/workloads/data_movement.h"
#include "tests/workloads/pointwise.h"

namespace mlc::schedule {
namespace {

TEST(PointwiseProperty, ChainsWithBroadcasts) {
  Rng rng(1);
  for (int i = 0; i < 60 && !HasFailure(); ++i) CheckFamily(rng, RandomChain(rng), "pointwise");
}

TEST(PointwiseProperty, IntegersAndCasts) {
  Rng rng(2);
  for (int i = 0; i < 40 && !HasFailure(); ++i) CheckFamily(rng, RandomIntegers(rng), "pointwise");
}

TEST(PointwiseProperty, TransposesAndSlices) {
  Rng rng(3);
  for (int i = 0; i < 60 && !HasFailure(); ++i)
    CheckFamily(rng, RandomTransposes(rng), "pointwise");
}

TEST(PointwiseProperty, Turns) {
  Rng rng(31);
  for (int i = 0; i < 60 && !HasFailure(); ++i) CheckFamily(rng, RandomTurns(rng), "pointwise");
}

TEST(PointwiseProperty, Reshapes) {
  Rng rng(4);
  for (int i = 0; i < 40 && !HasFailure(); ++i) CheckFamily(rng, RandomReshapes(rng), "pointwise");
}

TEST(PointwiseProperty, ConcatPadTileAndTrilu) {
  Rng rng(5);
  for (int i = 0; i < 60 && !HasFailure(); ++i)
    CheckFamily(rng, RandomConcatPadTileTrilu(rng), "pointwise");
}

TEST(PointwiseProperty, Gathers) {
  Rng rng(6);
  for (int i = 0; i < 40 && !HasFailure(); ++i) CheckFamily(rng, RandomGather(rng), "pointwise");
}

TEST(PointwiseProperty, Resizes) {
  Rng rng(7);
  for (int i = 0; i < 40 && !HasFailure(); ++i) CheckFamily(rng, RandomResize(rng), "pointwise");
}

TEST(PointwiseProperty, ScansAndScatters) {
  Rng rng(8);
  for (int i = 0; i < 60 && !HasFailure(); ++i)
    CheckFamily(rng, RandomScanOrScatter(rng), "pointwise");
}

}  // namespace
}  // namespace mlc::schedule
