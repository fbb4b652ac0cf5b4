#include "base/sandbox/sandbox.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <thread>

#include "base/process/child.h"
#include "base/sandbox/child_limits.h"
#include "compiler/runtime/thread_pool.h"
#include "tests/support/worker/await.h"

namespace mlc::worker {
namespace {

using build::DetectSandbox;
using build::Limits;

// What `body` reports from inside the sandbox; its end, if it reports nothing.
std::string Inside(const std::function<std::string()>& body, Limits limits = {}) {
  Child::Options options;
  options.limits = limits;
  Result<Child> child = Child::Start(options, [&](int pipe) { WriteAll(pipe, body()); });
  if (!child.ok()) return child.status().ToString();
  testing::AwaitEnd(*child);
  const int end = child->Reap();
  if (!child->received().empty()) return child->received();
  return DescribeEnd(end) + " " + child->ErrorText();
}

std::string Say(bool succeeded) { return succeeded ? "succeeded" : std::strerror(errno); }

class Sandbox : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!DetectSandbox().seccomp)
      GTEST_SKIP() << "no seccomp here, or a sanitizer, which reads files and maps terabytes";
  }
};

TEST_F(Sandbox, OpensNothing) {
  EXPECT_EQ(Inside([] { return Say(open("/etc/shadow", O_RDONLY) >= 0); }),
            "Operation not permitted");
  EXPECT_EQ(Inside([] { return Say(open("/tmp/mlc-escape", O_CREAT | O_WRONLY, 0600) >= 0); }),
            "Operation not permitted");
}

TEST_F(Sandbox, ConnectsNowhere) {
  EXPECT_EQ(Inside([] { return Say(socket(AF_INET, SOCK_STREAM, 0) >= 0); }),
            "Operation not permitted");
  EXPECT_EQ(Inside([] { return Say(socket(AF_UNIX, SOCK_STREAM, 0) >= 0); }),
            "Operation not permitted");
}

TEST_F(Sandbox, DeviceDriversReadFilesAndUseDevicesOnly) {
  Limits device;
  device.memory_bytes = 0;
  device.open_files = 4096;
  device.sandbox_kind = Limits::SandboxKind::kDevice;
  const auto inside = [&](const std::function<std::string()>& body) {
    return Inside(body, device);
  };
  EXPECT_EQ(inside([] { return Say(open("/proc/self/status", O_RDONLY) >= 0); }), "succeeded");
  EXPECT_EQ(inside([] { return Say(open("/dev/null", O_RDWR) >= 0); }), "succeeded");
  EXPECT_EQ(inside([] { return Say(socket(AF_INET, SOCK_STREAM, 0) >= 0); }),
            "Operation not permitted");
  EXPECT_EQ(inside([] { return Say(fork() >= 0); }), "Operation not permitted");
  EXPECT_EQ(inside([] { return Say(execl("/bin/true", "true", nullptr) == 0); }),
            "Operation not permitted");
  EXPECT_EQ(inside([] {
              int joined = 0;
              std::thread([&] { joined = 1; }).join();
              return Say(joined == 1);
            }),
            "succeeded");
  if (DetectSandbox().landlock_abi > 0) {
    EXPECT_EQ(inside([] { return Say(open("/tmp/mlc-escape", O_CREAT | O_WRONLY, 0600) >= 0); }),
              "Permission denied");
  }
}

TEST_F(Sandbox, StartsNoProcess) {
  EXPECT_EQ(Inside([] { return Say(fork() >= 0); }), "Operation not permitted");
  EXPECT_EQ(Inside([] {
              char* arguments[] = {nullptr};
              return Say(execv("/bin/true", arguments) == 0);
            }),
            "Operation not permitted");
}

TEST_F(Sandbox, TouchesNoOtherProcess) {
  EXPECT_EQ(Inside([] { return Say(kill(getppid(), 0) == 0); }), "Operation not permitted");
  EXPECT_EQ(Inside([] { return Say(ptrace(PTRACE_ATTACH, getppid(), 0, 0) == 0); }),
            "Operation not permitted");
  EXPECT_EQ(Inside([] { return Say(syscall(SYS_tgkill, getppid(), getppid(), 0) == 0); }),
            "Operation not permitted");
}

TEST_F(Sandbox, RaisesNoLimit) {
  EXPECT_EQ(Inside([] {
              const rlimit more = {RLIM_INFINITY, RLIM_INFINITY};
              return Say(setrlimit(RLIMIT_AS, &more) == 0);
            }),
            "Operation not permitted");
}

TEST_F(Sandbox, HoldsNoDescriptorOfTheParent) {
  const int secret = open("/dev/zero", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(secret, 0);
  EXPECT_EQ(Inside([secret] {
              char byte = 0;
              return Say(read(secret, &byte, 1) == 1);
            }),
            "Bad file descriptor");
  close(secret);
}

TEST_F(Sandbox, ThreadsWork) {
  EXPECT_EQ(Inside([] {
              std::string text;
              std::thread([&text] { text = "from a thread"; }).join();
              return text;
            }),
            "from a thread");
}

TEST_F(Sandbox, MemoryIsLimited) {
  Limits limits;
  limits.memory_bytes = int64_t{2} << 30;
  EXPECT_EQ(Inside(
                [] {
                  return Say(mmap(nullptr, size_t{4} << 30, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS,
                                  -1, 0) != MAP_FAILED);
                },
                limits),
            "Cannot allocate memory");
}

TEST_F(Sandbox, MemoryBeyondWhatIsMappedIsLimited) {
  void* const before =
      mmap(nullptr, size_t{8} << 30, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(before, MAP_FAILED);
  Limits limits;
  limits.memory_bytes = int64_t{1} << 30;
  const auto maps = [](size_t bytes) {
    return Say(mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
  };
  EXPECT_EQ(Inside([&] { return maps(size_t{1} << 29); }, limits), "succeeded");
  EXPECT_EQ(Inside([&] { return maps(size_t{2} << 30); }, limits), "Cannot allocate memory");
  munmap(before, size_t{8} << 30);
}

// Work for all of a child's threads, so much on each.
std::string Compute(int threads, std::chrono::milliseconds each) {
  mlc_pool* pool = mlc_pool_create(threads, 0);
  if (pool == nullptr) return "no threads";
  const auto work = [](void* context, int) {
    // A heap of its own, as a thread that allocates has it.
    const std::string own(1000, 'x');
    timespec used = {};
    const int64_t wanted = *static_cast<int64_t*>(context);
    while (used.tv_sec * 1'000'000'000 + used.tv_nsec < wanted) {
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    }
  };
  int64_t wanted_ns = std::chrono::nanoseconds(each).count();
  mlc_pool_run(pool, work, &wanted_ns);
  mlc_pool_destroy(pool);
  return "done";
}

// The kernel counts the time of all threads, and so does the limit. On a busy
// machine its ticks miss a part of what threads use: six seconds of work against a limit of two.
TEST_F(Sandbox, ThreadsHaveTheTimeThatOneWouldHave) {
  const auto inside = [](int allowed) {
    return Inside([] { return Compute(8, std::chrono::milliseconds(750)); },
                  build::LimitsFor({.threads = allowed, .ms = 1'000}));
  };
  EXPECT_EQ(inside(8), "done");
  EXPECT_EQ(inside(1), "ended with signal SIGXCPU (CPU time limit exceeded) ");
}

TEST_F(Sandbox, ThreadsHaveTheirStacksAndHeaps) {
  const auto inside = [](int threads, int allowed) {
    return Inside([threads] { return Compute(threads, std::chrono::milliseconds(1)); },
                  build::LimitsFor({.threads = allowed, .memory_bytes = int64_t{64} << 20}));
  };
  for (const int threads : {64, 128, 256}) EXPECT_EQ(inside(threads, threads), "done") << threads;
  EXPECT_NE(inside(256, 1), "done");
}

TEST(ChildProcess, TheMachinesFaultsAreToldFromTheWorks) {
  const auto ends = [](const std::function<void()>& body, std::string& errors) {
    Child::Options options;
    options.limits = {.memory_bytes = int64_t{64} << 20, .sandbox = false};
    Result<Child> child = Child::Start(options, [&](int) { body(); });
    testing::AwaitEnd(*child);
    const int end = child->Reap();
    errors = child->ErrorText();
    return end;
  };
  std::string errors;
  EXPECT_TRUE(IsMachineFailure(ends([] { raise(SIGKILL); }, errors), errors));
  EXPECT_FALSE(IsMachineFailure(ends([] { abort(); }, errors), errors));
  EXPECT_FALSE(IsMachineFailure(ends([] { _exit(1); }, errors), errors));
  const auto last_words = [] {
    std::fputs("LLVM ERROR: out of memory\n", stderr);
    abort();
  };
  EXPECT_TRUE(IsMachineFailure(ends(last_words, errors), errors));
  if (!DetectSandbox().seccomp) return;  // a sanitizer, which has no limit of memory
  const auto wants_much = [] {
    std::vector<std::string> kept;
    while (kept.size() < 100) kept.emplace_back(size_t{8} << 20, 'x');
  };
  const int end = ends(wants_much, errors);
  EXPECT_TRUE(IsMachineFailure(end, errors));
  EXPECT_EQ(DescribeEnd(end), "ran out of memory");
  EXPECT_EQ(errors, "out of memory\n");
}

TEST(ChildProcess, CrashesAreDescribed) {
  EXPECT_EQ(Inside([]() -> std::string { std::abort(); }), "ended with signal SIGABRT (Aborted) ");
  EXPECT_EQ(Inside([]() -> std::string { _exit(3); }), "ended with code 3 ");
}

TEST(ChildProcess, StoppedTimeDoesNotCount) {
  Child::Options options;
  options.limits.sandbox = false;
  Result<Child> child = Child::Start(options, [](int) { pause(); });
  ASSERT_TRUE(child.ok());
  child->Stop();
  const auto before = child->Running();
  const auto stopped = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() == stopped) {
  }
  EXPECT_EQ(child->Running(), before);
  child->Continue();
  child->Kill();
  EXPECT_EQ(WTERMSIG(child->Reap()), SIGKILL);
}

TEST(ChildProcess, OneThatDoesNotEndIsKilled) {
  Child::Options options;
  options.limits.sandbox = false;
  Result<Child> child = Child::Start(options, [](int pipe) {
    close(pipe);
    for (;;) pause();
  });
  ASSERT_TRUE(child.ok());
  testing::AwaitEnd(*child);
  EXPECT_EQ(WTERMSIG(child->Reap(std::chrono::milliseconds(20))), SIGKILL);
}

// One that ran somebody's code may send for ever.
TEST(ChildProcess, OneThatSendsMoreThanExpectedIsKilled) {
  Child::Options options;
  options.limits.sandbox = false;
  options.most_bytes = 1000;
  const std::string block(4096, 'x');
  Result<Child> child = Child::Start(options, [&](int pipe) {
    while (WriteAll(pipe, block)) {
    }
  });
  ASSERT_TRUE(child.ok());
  testing::AwaitEnd(*child);
  EXPECT_TRUE(child->sent_too_much());
  EXPECT_LT(child->received().size(), size_t{1} << 17);
  EXPECT_FALSE(child->Read());
  EXPECT_EQ(WTERMSIG(child->Reap()), SIGKILL);
}

TEST(ChildProcess, OneThatSendsWhatIsTakenMayGoOn) {
  int turns[2];
  ASSERT_EQ(pipe(turns), 0);
  Child::Options options;
  options.limits.sandbox = false;
  options.most_bytes = 1000;
  options.keep = {turns[0]};
  Result<Child> child = Child::Start(options, [&](int pipe) {
    char turn = 0;
    while (read(turns[0], &turn, 1) == 1 && turn == '+') WriteAll(pipe, std::string(900, 'x'));
  });
  ASSERT_TRUE(child.ok());
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(write(turns[1], "+", 1), 1);
    while (child->received().size() < 900) ASSERT_TRUE(child->Read());
    child->received().clear();
  }
  ASSERT_EQ(write(turns[1], "-", 1), 1);
  testing::AwaitEnd(*child);
  EXPECT_FALSE(child->sent_too_much());
  EXPECT_EQ(child->Reap(), 0);
  for (const int end : turns) close(end);
}

}  // namespace
}  // namespace mlc::worker
