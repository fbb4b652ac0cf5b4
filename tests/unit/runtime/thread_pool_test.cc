#include "compiler/runtime/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <thread>
#include <vector>

namespace {

using Pool = std::unique_ptr<mlc_pool, decltype(&mlc_pool_destroy)>;

Pool MakePool(int threads, bool pin = false) {
  return Pool(mlc_pool_create(threads, pin ? 1 : 0), mlc_pool_destroy);
}

// Plain integers on purpose: the pool itself must order the accesses.
struct Counts {
  std::vector<int> by_thread;
};

void CountThread(void* context, int thread) {
  ++static_cast<Counts*>(context)->by_thread[static_cast<size_t>(thread)];
}

TEST(ThreadPool, RejectsLessThanOneThread) {
  errno = 0;
  EXPECT_EQ(mlc_pool_create(0, 0), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

TEST(ThreadPool, RunsEveryThreadOnceInEveryRound) {
  for (const int threads : {1, 2, 3, 8}) {
    const Pool pool = MakePool(threads);
    ASSERT_NE(pool, nullptr);
    EXPECT_EQ(mlc_pool_threads(pool.get()), threads);
    Counts counts{std::vector<int>(static_cast<size_t>(threads))};
    for (int round = 1; round <= 200; ++round) {
      mlc_pool_run(pool.get(), CountThread, &counts);
      for (const int count : counts.by_thread) ASSERT_EQ(count, round) << threads << " threads";
    }
  }
}

TEST(ThreadPool, PinnedWorkersDoTheSame) {
  const Pool pool = MakePool(2, /*pin=*/true);
  Counts counts{{0, 0}};
  for (int round = 0; round < 100; ++round) mlc_pool_run(pool.get(), CountThread, &counts);
  EXPECT_EQ(counts.by_thread, (std::vector<int>{100, 100}));
}

TEST(ThreadPool, NullIsOneThread) {
  EXPECT_EQ(mlc_pool_threads(nullptr), 1);
  Counts counts{{0}};
  mlc_pool_run(nullptr, CountThread, &counts);
  EXPECT_EQ(counts.by_thread[0], 1);
  mlc_pool_destroy(nullptr);
}

TEST(ThreadPool, IsDestroyedWithoutEverRunning) {
  for (int i = 0; i < 50; ++i) MakePool(4);
}

void SpinForThreadZero(void* context, int thread) {
  auto* flag = static_cast<std::atomic<bool>*>(context);
  if (thread == 0) {
    flag->store(true);
  } else {
    while (!flag->load()) std::this_thread::yield();
  }
}

TEST(ThreadPool, CallerWorksWhileWorkersDo) {
  const Pool pool = MakePool(3);
  for (int i = 0; i < 100; ++i) {
    std::atomic<bool> flag = false;
    mlc_pool_run(pool.get(), SpinForThreadZero, &flag);
    EXPECT_TRUE(flag.load());
  }
}

// Kernel phases: buffers[0] holds the values, buffers[1] the thread of each iteration.
void FillPhase(void* const* buffers, int64_t begin, int64_t end, int64_t thread) {
  for (int64_t i = begin; i < end; ++i) {
    static_cast<int64_t*>(buffers[0])[i] += i;
    static_cast<int64_t*>(buffers[1])[i] = thread;
  }
}

// Reads across the split of the phase before.
void ReversePhase(void* const* buffers, int64_t begin, int64_t end, int64_t) {
  const auto* in = static_cast<const int64_t*>(buffers[0]);
  for (int64_t i = begin; i < end; ++i) static_cast<int64_t*>(buffers[2])[i] = in[99 - i];
}

TEST(RunPhases, SplitsEvenlyWithABarrierBetweenPhases) {
  for (const int threads : {1, 2, 3, 7}) {
    const Pool pool = MakePool(threads);
    for (int repeat = 0; repeat < 300; ++repeat) {
      std::vector<int64_t> values(100), owners(100), reversed(100);
      void* buffers[] = {values.data(), owners.data(), reversed.data()};
      const mlc_phase phases[] = {{FillPhase, 100}, {ReversePhase, 100}};
      mlc_run_phases(pool.get(), phases, 2, buffers);
      std::vector<int64_t> shares(static_cast<size_t>(threads));
      for (int64_t i = 0; i < 100; ++i) {
        const size_t at = static_cast<size_t>(i);
        ASSERT_EQ(values[at], i);
        ASSERT_EQ(reversed[at], 99 - i);
        ++shares[static_cast<size_t>(owners[at])];
        ASSERT_GE(owners[at], i > 0 ? owners[at - 1] : 0);
      }
      for (const int64_t share : shares) {
        ASSERT_GE(share, 100 / threads);
        ASSERT_LE(share, (100 + threads - 1) / threads);
      }
    }
  }
}

TEST(RunPhases, RunsNothingForAnEmptyExtent) {
  const Pool pool = MakePool(2);
  const mlc_phase phases[] = {{FillPhase, 0}};
  void* buffers[] = {nullptr, nullptr};
  mlc_run_phases(pool.get(), phases, 1, buffers);
}

TEST(RunPhases, FewerIterationsThanThreadsEachRunOnce) {
  const Pool pool = MakePool(4);
  std::vector<int64_t> values(3), owners(3, -1);
  void* buffers[] = {values.data(), owners.data()};
  const mlc_phase phases[] = {{FillPhase, 1}, {FillPhase, 3}};
  mlc_run_phases(pool.get(), phases, 2, buffers);
  EXPECT_EQ(values, (std::vector<int64_t>{0, 1, 2}));
  EXPECT_EQ(owners, (std::vector<int64_t>{0, 1, 2}));
}

TEST(ThreadPool, ManySessionsOwnPoolsAtOnce) {
  std::vector<std::thread> sessions;
  std::vector<int> totals(4);
  for (size_t s = 0; s < totals.size(); ++s) {
    sessions.emplace_back([&totals, s] {
      for (int life = 0; life < 5; ++life) {
        const Pool pool = MakePool(3);
        Counts counts{{0, 0, 0}};
        for (int round = 0; round < 200; ++round) mlc_pool_run(pool.get(), CountThread, &counts);
        for (const int count : counts.by_thread) totals[s] += count;
      }
    });
  }
  for (std::thread& session : sessions) session.join();
  EXPECT_EQ(totals, (std::vector<int>{3000, 3000, 3000, 3000}));
}

}  // namespace
