#include "worker/measure/spread.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace mlc::worker {
namespace {

using Pool = std::unique_ptr<mlc_pool, decltype(&mlc_pool_destroy)>;

TEST(Spread, LeavesEveryByteAsItIs) {
  for (const int threads : {1, 2, 5}) {
    const Pool pool(mlc_pool_create(threads, 0), mlc_pool_destroy);
    std::vector<std::byte> bytes(100'003), before;
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 7 % 251);
    before = bytes;
    Spread spread;
    EXPECT_TRUE(spread.empty());
    spread.Add(bytes.data(), 70'000);
    spread.Add(bytes.data() + 80'000, 63);  // no whole line
    spread.Add(bytes.data() + 90'000, 64);
    EXPECT_FALSE(spread.empty());
    for (int round = 0; round < 10; ++round) spread.Over(pool.get());
    EXPECT_EQ(bytes, before) << threads;
  }
}

TEST(Spread, OfLessThanALineIsNothing) {
  std::byte bytes[63];
  Spread spread;
  spread.Add(bytes, 63);
  EXPECT_TRUE(spread.empty());
}

}  // namespace
}  // namespace mlc::worker
