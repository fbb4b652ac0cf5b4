// Whose search takes its next step.
#include "server/tuner/search_queue.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <thread>

namespace mlc::server {
namespace {

constexpr std::chrono::milliseconds kNow(0);
constexpr std::chrono::milliseconds kForever(600'000);

// A job whose search is still to be started.
std::shared_ptr<RunningJob> NewJob() { return std::make_shared<RunningJob>(JobSpec(), JobFacts()); }

TEST(SearchQueueTest, JobsComeInTheOrderInWhichTheyBecameDue) {
  SearchQueue queue(8);
  const auto first = NewJob(), second = NewJob();
  queue.Schedule(first);
  queue.Schedule(second);
  queue.Schedule(first);  // is due already
  EXPECT_EQ(queue.Take(kNow), first);
  EXPECT_EQ(queue.Take(kNow), second);
  EXPECT_EQ(queue.Take(kNow), nullptr);
}

TEST(SearchQueueTest, AJobIsOnOneThreadAndComesAgainIfItBecameDueMeanwhile) {
  SearchQueue queue(8);
  const auto job = NewJob();
  queue.Schedule(job);
  ASSERT_EQ(queue.Take(kNow), job);
  queue.Schedule(job);
  EXPECT_EQ(queue.Take(kNow), nullptr) << "it is on another thread";
  queue.Done(job);
  EXPECT_EQ(queue.Take(kNow), job);
  queue.Done(job);
  EXPECT_EQ(queue.Take(kNow), nullptr);
}

TEST(SearchQueueTest, HalfOfTheThreadsStartSearches) {
  SearchQueue queue(4);
  const auto first = NewJob(), second = NewJob(), third = NewJob();
  for (const auto& job : {first, second, third}) queue.Schedule(job);
  ASSERT_EQ(queue.Take(kNow), first);
  ASSERT_EQ(queue.Take(kNow), second);
  EXPECT_EQ(queue.Take(kNow), nullptr) << "two threads of four start searches";
  queue.Done(first);
  EXPECT_EQ(queue.Take(kNow), third);
}

TEST(SearchQueueTest, StopEndsTheWait) {
  SearchQueue queue(1);
  std::thread stops([&queue] { queue.Stop(); });
  EXPECT_EQ(queue.Take(kForever), nullptr);
  stops.join();
  EXPECT_TRUE(queue.stopped());
}

TEST(SearchQueueTest, AJobThatBecomesDueEndsTheWait) {
  SearchQueue queue(1);
  const auto job = NewJob();
  std::thread schedules([&] { queue.Schedule(job); });
  EXPECT_EQ(queue.Take(kForever), job);
  schedules.join();
}

}  // namespace
}  // namespace mlc::server
