#include "compiler/build/sandbox.h"

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
#include <csignal>
#include <cstring>
#include <thread>

#include "worker/child.h"
#include "worker/measurement_gate.h"

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
  while (child->Read()) usleep(200);
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
  device.fence = Limits::Fence::kDevice;
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
  limits.more_bytes = int64_t{1} << 30;
  const auto maps = [](size_t bytes) {
    return Say(mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
  };
  EXPECT_EQ(Inside([&] { return maps(size_t{1} << 29); }, limits), "succeeded");
  EXPECT_EQ(Inside([&] { return maps(size_t{2} << 30); }, limits), "Cannot allocate memory");
  munmap(before, size_t{8} << 30);
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
  usleep(20'000);
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
  while (child->Read()) usleep(200);
  EXPECT_EQ(WTERMSIG(child->Reap(std::chrono::milliseconds(20))), SIGKILL);
}

TEST(Gate, ExclusiveHoldersWaitForEachOther) {
  const std::string path = ::testing::TempDir() + "gate_test.lock";
  Child::Options options;
  options.limits.sandbox = false;
  std::optional<Result<Child>> child;
  {
    const MeasurementGate gate(path, MeasurementGate::Mode::kExclusive);
    child = Child::Start(options, [&](int pipe) {
      WriteAll(pipe, "a");
      const MeasurementGate shared(path, MeasurementGate::Mode::kShared);
      WriteAll(pipe, "b");
    });
    ASSERT_TRUE(child->ok());
    while ((*child)->received().empty()) (*child)->Read();
    usleep(10'000);
    (*child)->Read();
    EXPECT_EQ((*child)->received(), "a") << "it entered while the gate was held";
  }
  while ((*child)->Read()) {
  }
  EXPECT_EQ((*child)->received(), "ab");
  unlink(path.c_str());
}

}  // namespace
}  // namespace mlc::worker
