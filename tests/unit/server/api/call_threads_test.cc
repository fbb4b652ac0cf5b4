#include "server/api/call_threads.h"

#include <gtest/gtest.h>

#include <future>

namespace mlc::server {
namespace {

TEST(CallThreadsTest, OneCallThatWaitsDoesNotStopTheNext) {
  std::promise<void> second_ran;
  std::promise<void> both_ran;
  CallThreads threads(2);
  threads.Run([&] {
    second_ran.get_future().wait();
    both_ran.set_value();
  });
  threads.Run([&] { second_ran.set_value(); });
  both_ran.get_future().wait();
}

TEST(CallThreadsTest, WhatWaitsIsRunBeforeItEnds) {
  int ran = 0;
  std::promise<void> go;
  {
    CallThreads threads(1);
    threads.Run([&] { go.get_future().wait(); });
    for (int i = 0; i < 10; ++i) threads.Run([&] { ++ran; });
    go.set_value();
  }
  EXPECT_EQ(ran, 10);
}

}  // namespace
}  // namespace mlc::server
