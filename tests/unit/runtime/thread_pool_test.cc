#include "compiler/runtime/thread_pool.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "compiler/runtime/thread_place.h"

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

// Whether every other thread of this process sleeps.
bool OthersSleep() {
  bool all = true;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    if (entry.path().filename() == std::to_string(gettid())) continue;
    std::ifstream stat(entry.path() / "stat");
    std::string line;
    std::getline(stat, line);
    all &= line.find(") S ") != std::string::npos;
  }
  return all;
}

// A deadline for a broken pool alone: a good one takes milliseconds.
bool OthersFallAsleep() {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!OthersSleep()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

TEST(ThreadPool, ThreadsFallAsleepAfterARun) {
  const Pool pool = MakePool(2);
  Counts counts{{0, 0}};
  mlc_pool_begin(pool.get());
  mlc_pool_run(pool.get(), CountThread, &counts);
  mlc_pool_end(pool.get());
  EXPECT_TRUE(OthersFallAsleep());
}

TEST(ThreadPool, ThreadsFallAsleepInARunThatStandsStillAndGoOnWithIt) {
  const Pool pool = MakePool(2);
  Counts counts{{0, 0}};
  mlc_pool_begin(pool.get());
  mlc_pool_run(pool.get(), CountThread, &counts);
  EXPECT_TRUE(OthersFallAsleep());
  mlc_pool_run(pool.get(), CountThread, &counts);
  mlc_pool_end(pool.get());
  EXPECT_EQ(counts.by_thread, (std::vector<int>{2, 2}));
}

TEST(ThreadPool, BeginAndEndTakeNoPool) {
  mlc_pool_begin(nullptr);
  mlc_pool_end(nullptr);
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

TEST(RunPhases, RunsEveryIterationOnceWithABarrierBetweenPhases) {
  for (const int threads : {1, 2, 3, 7}) {
    const Pool pool = MakePool(threads);
    for (int repeat = 0; repeat < 300; ++repeat) {
      std::vector<int64_t> values(100), owners(100), reversed(100);
      void* buffers[] = {values.data(), owners.data(), reversed.data()};
      const mlc_phase phases[] = {{FillPhase, 100}, {ReversePhase, 100}};
      mlc_run_phases(pool.get(), phases, 2, buffers);
      for (int64_t i = 0; i < 100; ++i) {
        const size_t at = static_cast<size_t>(i);
        ASSERT_EQ(values[at], i);
        ASSERT_EQ(reversed[at], 99 - i);
        ASSERT_TRUE(0 <= owners[at] && owners[at] < threads) << owners[at];
      }
    }
  }
}

// The first piece that `slow` runs lasts until as many iterations as others can take are done.
struct Straggle {
  int64_t slow;
  int64_t takable;
  std::atomic<int64_t> done = 0;
  std::atomic<bool> met = false;
  std::atomic<bool> given_up = false;
};

void StragglePhase(void* const* buffers, int64_t begin, int64_t end, int64_t thread) {
  auto& straggle = *static_cast<Straggle*>(buffers[0]);
  if (thread == straggle.slow && !straggle.met.exchange(true)) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (straggle.done.load() < straggle.takable && !straggle.given_up.load()) {
      if (std::chrono::steady_clock::now() > deadline) straggle.given_up = true;
      std::this_thread::yield();
    }
  }
  straggle.done += end - begin;
}

TEST(RunPhases, OthersRunWhatASlowThreadHasNotBegun) {
  for (const int threads : {2, 3, 5}) {
    const Pool pool = MakePool(threads);
    for (int slow = 0; slow < threads; ++slow) {
      bool met = false;
      // A worker that comes late finds nothing left, and is met another time.
      for (int repeat = 0; repeat < 100000 && !met; ++repeat) {
        // Of its 40 iterations, the slow thread has a quarter in hand.
        Straggle straggle{slow, 40 * threads - 10};
        void* buffers[] = {&straggle};
        const mlc_phase phase = {StragglePhase, 40 * threads};
        mlc_run_phases(pool.get(), &phase, 1, buffers);
        ASSERT_FALSE(straggle.given_up) << slow << " of " << threads;
        ASSERT_EQ(straggle.done, 40 * threads);
        met = straggle.met;
      }
      EXPECT_TRUE(met) << slow << " of " << threads;
    }
  }
}

void CountPhase(void* const* buffers, int64_t begin, int64_t end, int64_t) {
  for (int64_t i = begin; i < end; ++i) ++static_cast<int*>(buffers[0])[i];
}

TEST(RunPhases, MoreThreadsThanCpusAndAnyExtentRunEveryIterationOnce) {
  for (const int threads : {64, 200}) {
    const Pool pool = MakePool(threads);
    for (const int64_t extent : {2, 63, 64, 65, 200, 1000, 20000}) {
      std::vector<int> counts(static_cast<size_t>(extent));
      void* buffers[] = {counts.data()};
      const mlc_phase phases[] = {{CountPhase, extent}, {CountPhase, extent}};
      for (int repeat = 0; repeat < 5; ++repeat) {
        mlc_run_phases(pool.get(), phases, 2, buffers);
      }
      EXPECT_EQ(counts, std::vector<int>(static_cast<size_t>(extent), 10)) << threads;
    }
  }
}

TEST(RunPhases, ABoundRunsTheFirstIterationsOfEachPeriod) {
  for (const int threads : {1, 3, 64}) {
    const Pool pool = MakePool(threads);
    const mlc_bound bounds[] = {{7, 3}, {84, 5}, {12, 12}, {6, 0}};
    for (const mlc_bound& bound : bounds) {
      std::vector<int> counts(84), expected(84);
      void* buffers[] = {counts.data()};
      const mlc_phase phase = {CountPhase, 84 / bound.period * bound.run};
      for (int repeat = 0; repeat < 5; ++repeat) {
        mlc_run_bounded_phases(pool.get(), &phase, &bound, 1, buffers);
      }
      for (int64_t i = 0; i < 84; ++i) {
        expected[static_cast<size_t>(i)] = i % bound.period < bound.run ? 5 : 0;
      }
      EXPECT_EQ(counts, expected) << bound.run << " of " << bound.period << ", " << threads;
    }
  }
}

// The CPUs of the calling thread, for as long as the object lives; new threads inherit them.
class Affinity {
 public:
  explicit Affinity(const std::vector<int>& cpus) {
    sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int cpu : cpus) CPU_SET(static_cast<size_t>(cpu), &set);
    sched_setaffinity(0, sizeof set, &set);
  }
  Affinity(const Affinity&) = delete;
  Affinity& operator=(const Affinity&) = delete;
  ~Affinity() { sched_setaffinity(0, sizeof before_, &before_); }

  static std::vector<int> Allowed() {
    cpu_set_t set;
    mlc_place_allowed(&set);
    std::vector<int> cpus;
    for (int i = 0; i < CPU_COUNT(&set); ++i) cpus.push_back(mlc_place_cpu(&set, i));
    return cpus;
  }

 private:
  cpu_set_t before_;
};

TEST(RunPhases, CallerTakesOverTheShareOfALateWorker) {
  // On one CPU, the worker mostly waits for the caller to sleep.
  const Affinity one({Affinity::Allowed().front()});
  const Pool pool = MakePool(2);
  bool taken_over = false;
  for (int repeat = 0; repeat < 100000 && !taken_over; ++repeat) {
    std::vector<int64_t> values(100), owners(100, -1);
    void* buffers[] = {values.data(), owners.data()};
    const mlc_phase phase = {FillPhase, 100};
    mlc_run_phases(pool.get(), &phase, 1, buffers);
    for (int64_t i = 0; i < 100; ++i) ASSERT_EQ(values[static_cast<size_t>(i)], i);
    taken_over = owners.back() == 0;
  }
  EXPECT_TRUE(taken_over);
}

void NoteCpu(void* context, int thread) { static_cast<int*>(context)[thread] = sched_getcpu(); }

TEST(ThreadPool, WorkerFollowsNoCallerOntoItsCpu) {
  const std::vector<int> allowed = Affinity::Allowed();
  if (allowed.size() < 2) GTEST_SKIP() << "one CPU";
  const Pool pool = MakePool(2);
  for (int move = 0; move < 6; ++move) {
    const Affinity caller({allowed[static_cast<size_t>(move) % 2]});
    int cpus[] = {0, 0};
    do {  // until the worker has noticed: it need not be in the first round
      mlc_pool_run(pool.get(), NoteCpu, cpus);
    } while (cpus[0] == cpus[1]);
    EXPECT_EQ(cpus[0], allowed[static_cast<size_t>(move) % 2]);
  }
}

TEST(ThreadPlace, LeavesWhatIsTakenAndReturnsToIt) {
  const std::vector<int> allowed = Affinity::Allowed();
  if (allowed.size() < 2) GTEST_SKIP() << "one CPU";
  const Affinity restored(allowed);
  mlc_place place;
  mlc_place_init(&place, -1);
  for (const int cpu : {allowed[0], allowed[1], allowed[0]}) {
    cpu_set_t taken;
    CPU_ZERO(&taken);
    CPU_SET(static_cast<size_t>(cpu), &taken);
    mlc_place_leave(&place, &taken, /*fetched=*/0);
    EXPECT_NE(sched_getcpu(), cpu);
    EXPECT_EQ(Affinity::Allowed().size(), allowed.size() - 1);
  }
}

TEST(ThreadPlace, KeepsToWhatTheProgramAllowsMeanwhile) {
  const std::vector<int> allowed = Affinity::Allowed();
  if (allowed.size() < 2) GTEST_SKIP() << "one CPU";
  mlc_place place;
  mlc_place_init(&place, -1);
  const Affinity one({allowed[1]});
  cpu_set_t taken;
  CPU_ZERO(&taken);
  CPU_SET(static_cast<size_t>(allowed[1]), &taken);
  mlc_place_leave(&place, &taken, /*fetched=*/0);
  EXPECT_EQ(Affinity::Allowed(), std::vector<int>{allowed[1]});
}

TEST(ThreadPlace, ForgetsWhereItWasFetchedTo) {
  const std::vector<int> allowed = Affinity::Allowed();
  if (allowed.size() < 2) GTEST_SKIP() << "one CPU";
  const Affinity restored(allowed);
  mlc_place place;
  mlc_place_init(&place, -1);
  mlc_place_fetch(0);
  const std::vector<int> here = Affinity::Allowed();
  ASSERT_EQ(here.size(), 1U);
  cpu_set_t taken;
  CPU_ZERO(&taken);
  CPU_SET(static_cast<size_t>(here[0]), &taken);
  mlc_place_leave(&place, &taken, /*fetched=*/1);
  EXPECT_NE(sched_getcpu(), here[0]);
  EXPECT_EQ(Affinity::Allowed().size(), allowed.size() - 1);
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
  EXPECT_EQ(std::count(owners.begin(), owners.end(), -1), 0);
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
