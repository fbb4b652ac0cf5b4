#include "client/compile/fewest_kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mlc::client {
namespace {

using ::testing::ElementsAre;

constexpr double kNo = kNotAllowed;

TEST(FewestKernels, OneServesAllIfItMay) {
  EXPECT_THAT(FewestKernels({{9, kNo, kNo}, {5, 5, kNo}, {2, 2, 1}}), ElementsAre(0, 0, 0));
}

TEST(FewestKernels, EachHasItsOwnIfNoneIsShared) {
  EXPECT_THAT(FewestKernels({{9, kNo, kNo}, {kNo, 5, kNo}, {kNo, kNo, 1}}), ElementsAre(0, 1, 2));
}

// The kernel of class 2 serves two classes, that of class 1 one of them.
TEST(FewestKernels, AKernelBetweenServesTheSmallerOnes) {
  EXPECT_THAT(FewestKernels({{9, kNo, kNo, kNo, kNo},
                             {8, 8, kNo, kNo, kNo},
                             {kNo, kNo, 5, kNo, kNo},
                             {kNo, kNo, 4, 4, kNo},
                             {kNo, kNo, 3, 3, 3}}),
              ElementsAre(0, 0, 2, 2, 2));
}

TEST(FewestKernels, AClassTakesTheFasterOfThoseThatAreThere) {
  EXPECT_THAT(FewestKernels({{9, kNo, kNo}, {kNo, 5, kNo}, {4, 3, 2}}), ElementsAre(0, 1, 1));
}

// The first choice serves the middle, and both others then serve it, too.
TEST(FewestKernels, AKernelThatOthersMakeNeedlessIsLeftOut) {
  EXPECT_THAT(FewestKernels({{1, kNo, kNo, kNo, kNo, kNo},
                             {1, 1, kNo, kNo, kNo, kNo},
                             {1, 1, 1, kNo, kNo, kNo},
                             {kNo, 1, kNo, 1, kNo, kNo},
                             {kNo, 1, kNo, 1, 1, kNo},
                             {kNo, kNo, kNo, 1, kNo, 1}}),
              ElementsAre(0, 0, 0, 3, 3, 3));
}

}  // namespace
}  // namespace mlc::client
