#include "client/tune/local_memory.h"

#include <gtest/gtest.h>

namespace mlc::client {
namespace {

constexpr int64_t kGib = int64_t{1} << 30;

server::ModelInfo ModelOf(double bytes) {
  server::TaskInfo small, large;
  small.min_bytes = 1e6;
  large.summary = "pointwise 99999999999 +add";
  large.min_bytes = bytes;
  return {.tasks = {small, large}};
}

TEST(LocalMemoryTest, ATaskThatThisMachineCannotHoldIsNamed) {
  EXPECT_TRUE(CheckMemory(ModelOf(8e9), 16 * kGib).ok());
  EXPECT_EQ(CheckMemory(ModelOf(8e11), 16 * kGib),
            FailedPrecondition("the tensors of the task 'pointwise 99999999999 +add' take 746 GiB, "
                               "and this machine has 16 GiB of memory: give smaller sizes, or tune "
                               "with --server ADDRESS, which has a larger worker"));
}

}  // namespace
}  // namespace mlc::client
