// What the course of a job tells: recorded courses are replayed, with the time that was left.
#include "client/progress/job_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>

namespace mlc::client {
namespace {

using ::testing::ElementsAre;

struct Point {
  double elapsed_s;
  int64_t trials;
};

// What the embedded server said of real runs: when the number of trials changed.
// resnet50 of full size, 500 trials, 2 threads.
constexpr Point kLarge[] = {{0.0, 0},     {16.16, 25},  {16.56, 26},   {16.96, 27},  {17.16, 28},
                            {17.56, 30},  {17.76, 31},  {17.96, 32},   {23.86, 63},  {24.07, 64},
                            {30.98, 96},  {37.52, 128}, {43.67, 160},  {49.88, 192}, {55.98, 224},
                            {61.76, 256}, {67.35, 288}, {72.63, 320},  {78.02, 352}, {83.6, 384},
                            {89.65, 416}, {96.31, 448}, {102.04, 480}, {105.87, 500}};
// A reduced resnet18, 300 trials, 1 thread.
constexpr Point kSmall[] = {{0.0, 0},    {1.66, 32},   {2.96, 64},  {4.18, 96},
                            {5.24, 128}, {6.45, 160},  {7.67, 192}, {8.91, 224},
                            {9.93, 256}, {11.21, 288}, {11.56, 300}};

// bert_base of full size, 300 trials, 2 threads, while other programs ran.
constexpr Point kDisturbed[] = {{0.0, 0},     {20.55, 32},  {29.25, 64},  {38.01, 96},
                                {46.52, 128}, {54.91, 160}, {63.23, 192}, {71.28, 224},
                                {78.62, 256}, {87.0, 288},  {89.88, 300}};

proto::JobProgress At(double elapsed_s, int64_t trials, int64_t wanted) {
  proto::JobProgress progress;
  progress.set_elapsed_s(elapsed_s);
  progress.set_trials(trials);
  progress.set_trials_wanted(wanted);
  if (trials == wanted) progress.set_state(proto::DONE);
  return progress;
}

// Replays a course as a server sends it, and calls see(elapsed, seconds left) after each message.
template <typename See>
void Replay(std::span<const Point> course, JobHistory& history, const See& see) {
  constexpr double kEveryS = 0.2;
  size_t at = 0;
  for (double now = 0; now < course.back().elapsed_s; now += kEveryS) {
    while (course[at + 1].elapsed_s <= now) ++at;
    history.Add(At(now, course[at].trials, course.back().trials), 1e6);
    see(now, history.SecondsLeft());
  }
  history.Add(At(course.back().elapsed_s, course.back().trials, course.back().trials), 1e6);
}

// The last seconds are shown as whole ones, so their error in percent says nothing.
TEST(JobHistoryTest, TheTimeLeftIsRightInTheSecondHalf) {
  for (const std::span<const Point> course :
       {std::span<const Point>(kLarge), {kSmall}, {kDisturbed}}) {
    JobHistory history;
    const double end_s = course.back().elapsed_s;
    Replay(course, history, [&](double now, double left) {
      const double actual = end_s - now;
      if (now < end_s / 2 || actual < 1) return;
      EXPECT_NEAR(left, actual, 0.2 * actual) << "after " << now << " of " << end_s << " s";
    });
    EXPECT_EQ(history.SecondsLeft(), 0) << "it has ended";
  }
}

TEST(JobHistoryTest, NothingIsKnownBeforeTheFirstResults) {
  JobHistory history;
  history.Add(At(0, 0, 100), 0);
  EXPECT_EQ(history.SecondsLeft(), 0);
  history.Add(At(9, 0, 100), 0);
  EXPECT_EQ(history.SecondsLeft(), 0);
  history.Add(At(10, 10, 100), 0);
  EXPECT_DOUBLE_EQ(history.SecondsLeft(), 90);
  EXPECT_TRUE(history.latencies().empty());
}

TEST(JobHistoryTest, TimePassesBetweenResults) {
  JobHistory history;
  history.Add(At(0, 0, 100), 0);
  history.Add(At(10, 10, 100), 0);
  history.Add(At(16, 10, 100), 0);
  EXPECT_DOUBLE_EQ(history.SecondsLeft(), 84);
  history.Add(At(60, 10, 100), 0);
  EXPECT_DOUBLE_EQ(history.SecondsLeft(), 80) << "the batch is late; those after it are to come";
  history.Add(At(61, 99, 100), 0);
  EXPECT_GT(history.SecondsLeft(), 0) << "it runs";
}

TEST(JobHistoryTest, TrialsFromTheLogTakeNoTime) {
  JobHistory history;
  proto::JobProgress progress = At(0, 500, 1000);
  progress.set_replayed(500);
  history.Add(progress, 0);
  EXPECT_EQ(history.SecondsLeft(), 0) << "unknown";
  progress.set_trials(600);
  progress.set_elapsed_s(10);
  history.Add(progress, 0);
  EXPECT_DOUBLE_EQ(history.SecondsLeft(), 40);
}

TEST(JobHistoryTest, ATimeBudgetEndsTheJobBeforeItsTrials) {
  JobHistory history;
  history.Add(At(0, 0, 1000), 0);
  proto::JobProgress progress = At(10, 10, 1000);
  progress.set_budget_left_s(50);
  history.Add(progress, 0);
  EXPECT_DOUBLE_EQ(history.SecondsLeft(), 50);
  progress.set_budget_left_s(5000);
  history.Add(progress, 0);
  EXPECT_DOUBLE_EQ(history.SecondsLeft(), 990);
}

TEST(JobHistoryTest, AJobThatStartsAgainIsCountedAnew) {
  JobHistory history;
  history.Add(At(0, 0, 1000), 0);
  history.Add(At(100, 500, 1000), 0);
  history.Add(At(0, 500, 1000), 0);
  EXPECT_EQ(history.SecondsLeft(), 0) << "unknown";
  history.Add(At(10, 510, 1000), 0);
  EXPECT_DOUBLE_EQ(history.SecondsLeft(), 490);
}

TEST(JobHistoryTest, ALongCourseIsKeptWithFewerPoints) {
  JobHistory history;
  for (int i = 0; i < 40'000; ++i) history.Add(At(i, i, 50'000), 1e6 - i);
  const std::vector<double>& latencies = history.latencies();
  EXPECT_LE(latencies.size(), JobHistory::kPoints);
  EXPECT_GT(latencies.size(), JobHistory::kPoints / 4);
  EXPECT_TRUE(std::is_sorted(latencies.rbegin(), latencies.rend()));
  EXPECT_EQ(latencies.back(), 1e6 - 39'999);
  EXPECT_DOUBLE_EQ(history.SecondsLeft(), 10'001);
}

TEST(JobHistoryTest, TheLatencyStartsWhereItIsKnown) {
  JobHistory history;
  history.Add(At(0, 0, 10), 0);
  history.Add(At(1, 1, 10), 900);
  history.Add(At(1.1, 1, 10), 800);
  history.Add(At(2, 2, 10), 700);
  EXPECT_THAT(history.latencies(), ElementsAre(800, 700)) << "at most one in a quarter of a second";
}

}  // namespace
}  // namespace mlc::client
