#include "server/api/steady_timer.h"

#include <gtest/gtest.h>

#include <future>
#include <vector>

namespace mlc::server {
namespace {

using std::chrono::milliseconds;

TEST(SteadyTimerTest, CallsComeInTheOrderOfTheirTimes) {
  std::vector<int> calls;
  std::promise<void> last;
  SteadyTimer timer;
  timer.After(milliseconds(60), [&] {
    calls.push_back(3);
    last.set_value();
  });
  timer.After(milliseconds(0), [&] {
    calls.push_back(1);
    timer.After(milliseconds(0), [&] { calls.push_back(2); });
  });
  last.get_future().wait();
  EXPECT_EQ(calls, (std::vector<int>{1, 2, 3}));
}

TEST(SteadyTimerTest, WhatWaitsAtTheEndRunsAtOnce) {
  int calls = 0;
  {
    SteadyTimer timer;
    timer.After(std::chrono::hours(24), [&] {
      ++calls;
      timer.After(std::chrono::hours(24), [&] { ++calls; });
    });
  }
  EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace mlc::server
