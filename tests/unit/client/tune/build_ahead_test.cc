#include "client/local/build_ahead.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>

namespace mlc::client {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

std::set<size_t> TakeAll(BuildAhead& builds) {
  std::set<size_t> taken;
  while (!builds.IsDone()) {
    for (const Built& one : builds.Take(2, steady_clock::now() + seconds(60))) {
      EXPECT_EQ(one.library, std::to_string(one.index));
      taken.insert(one.index);
    }
  }
  return taken;
}

TEST(BuildAheadTest, EverythingThatCanBeBuiltComesOnce) {
  BuildAhead builds(7, 3, [](size_t i, const std::stop_token&) -> Result<std::string> {
    if (i == 4) return Internal("no kernel");
    return std::to_string(i);
  });
  EXPECT_EQ(TakeAll(builds), (std::set<size_t>{0, 1, 2, 3, 5, 6}));
  EXPECT_TRUE(builds.Take(2, steady_clock::now()).empty());
}

TEST(BuildAheadTest, OnlySoManyAreAheadAsThereAreThreads) {
  std::atomic<int> begun = 0;
  BuildAhead builds(100, 2, [&](size_t i, const std::stop_token&) -> Result<std::string> {
    ++begun;
    return std::to_string(i);
  });
  std::this_thread::sleep_for(milliseconds(50));
  EXPECT_LE(begun, 4) << "two that lie ready, and one of each thread";
  EXPECT_EQ(TakeAll(builds).size(), 100u);
}

TEST(BuildAheadTest, TakingEndsInTimeAndTheEndStopsBuilds) {
  std::atomic<bool> stopped = false;
  {
    BuildAhead builds(1, 1, [&](size_t, const std::stop_token& stop) -> Result<std::string> {
      while (!stop.stop_requested()) std::this_thread::sleep_for(milliseconds(1));
      stopped = true;
      return Status(StatusCode::kCancelled, "stopped");
    });
    EXPECT_TRUE(builds.Take(1, steady_clock::now() + milliseconds(5)).empty());
    EXPECT_FALSE(builds.IsDone());
  }
  EXPECT_TRUE(stopped);
}

}  // namespace
}  // namespace mlc::client
