// Every way out that an attacker would try, from inside the sandboxes that workers really have.
#include "tests/conformance/sandbox/escapes.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/process/child.h"
#include "tests/without_landlock.h"

namespace mlc::testing {
namespace {

using build::CanSandbox;
using build::DetectSandbox;
using build::Limits;
using worker::Child;

constexpr char kDone[] = "all was tried\n";

std::vector<Escape> AllEscapes() {
  std::vector<Escape> all;
  for (auto* part : {SocketEscapes, ProcessEscapes, KernelEscapes, FileEscapes}) {
    for (Escape& escape : part()) all.push_back(std::move(escape));
  }
  return all;
}

class Escapes : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!DetectSandbox().seccomp) GTEST_SKIP() << "no seccomp here, or a sanitizer";
    std::string folder = ::testing::TempDir() + "/escapes_XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    victim_ = {folder, "/dev/shm/mlc_escapes_" + std::to_string(getpid()), getpid()};
    std::ofstream(folder + "/kept") << "keep me";
    std::ofstream(victim_.shared) << "keep me";
    stream_ = Bind(SOCK_STREAM, folder + "/stream");
    ASSERT_EQ(listen(stream_, 8), 0);
    datagrams_ = Bind(SOCK_DGRAM, folder + "/datagrams");
  }
  void TearDown() override {
    if (victim_.folder.empty()) return;
    close(stream_);
    close(datagrams_);
    unlink(victim_.shared.c_str());
    std::filesystem::remove_all(victim_.folder);
  }

  static int Bind(int type, const std::string& path) {
    const int end = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    EXPECT_EQ(bind(end, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0) << path;
    return end;
  }

  static Child::Options OptionsFor(Limits::SandboxKind kind) {
    Child::Options options;
    options.limits.memory_bytes = 0;
    options.limits.open_files = 4096;
    options.limits.sandbox_kind = kind;
    return options;
  }

  static std::string Inside(const Child::Options& options,
                            const std::function<std::string()>& body) {
    Result<Child> child =
        Child::Start(options, [&](int pipe) { worker::WriteAll(pipe, body() + kDone); });
    if (!child.ok()) return child.status().ToString();
    while (child->Read()) usleep(200);
    const int end = child->Reap();
    if (end == 0) return child->received();
    return child->received() + worker::DescribeEnd(end) + ": " + child->ErrorText();
  }

  // What does not end as it should.
  std::string TryAll(const std::function<bool(const Escape&, int)>& fine) const {
    std::string wrong;
    for (const Escape& escape : AllEscapes()) {
      const int error = escape.attempt(victim_);
      if (fine(escape, error)) continue;
      wrong += escape.what + ": " + (error == 0 ? "it got through" : std::strerror(error)) + "\n";
    }
    return wrong;
  }

  Victim victim_;
  int stream_ = -1;
  int datagrams_ = -1;
};

TEST_F(Escapes, NoneSucceedsInTheSandboxOfADriver) {
  if (DetectSandbox().landlock_abi == 0) GTEST_SKIP() << "no landlock: there is no such sandbox";
  const auto refused = [](const Escape& escape, int error) { return error == escape.device; };
  EXPECT_EQ(Inside(OptionsFor(Limits::SandboxKind::kDevice), [&] { return TryAll(refused); }),
            kDone);
  std::ifstream kept(victim_.folder + "/kept");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(kept), {}), "keep me");
}

TEST_F(Escapes, NoneSucceedsInTheSandboxOfAComputation) {
  const auto refused = [](const Escape&, int error) { return error == EPERM || error == ENOSYS; };
  EXPECT_EQ(Inside(OptionsFor(Limits::SandboxKind::kCompute), [&] { return TryAll(refused); }),
            kDone);
}

// What proves that the attempts are real ones.
TEST_F(Escapes, TheySucceedWithoutASandbox) {
  Child::Options options = OptionsFor(Limits::SandboxKind::kDevice);
  options.limits.sandbox = false;
  const auto succeeded = [](const Escape& escape, int error) {
    return !escape.works || error == 0;
  };
  const std::string said = Inside(options, [&] { return TryAll(succeeded); });
  if (geteuid() == 0) {
    EXPECT_EQ(said, kDone);
  }
  EXPECT_FALSE(std::filesystem::exists(victim_.folder + "/kept"));
}

#if defined(__x86_64__)
TEST_F(Escapes, NumbersOfX32NameNoOtherWay) {
  constexpr long kX32Bit = 0x40000000;
  for (const Limits::SandboxKind kind :
       {Limits::SandboxKind::kCompute, Limits::SandboxKind::kDevice}) {
    if (!CanSandbox(kind).ok()) continue;
    EXPECT_EQ(Inside(OptionsFor(kind),
                     [&] {
                       std::string wrong;
                       for (const long call : ForbiddenCalls()) {
                         errno = 0;
                         // The filter answers: a kernel without x32 has another error.
                         if (syscall(kX32Bit | call, 0, 0, 0, 0) >= 0 || errno != EPERM) {
                           wrong += std::to_string(call) + ": " + std::strerror(errno) + "\n";
                         }
                       }
                       return wrong;
                     }),
              kDone);
  }
}
#endif

// The driver has threads of its own before the sandbox is entered.
TEST_F(Escapes, TheSandboxOfADriverHoldsEarlierThreadsToo) {
  if (DetectSandbox().landlock_abi == 0) GTEST_SKIP() << "no landlock: there is no such sandbox";
  static std::atomic<bool> closed{false};
  static std::atomic<int> error{-1};
  static std::thread thread;
  Child::Options options = OptionsFor(Limits::SandboxKind::kDevice);
  const int victim = victim_.process;
  options.before = [victim] {
    thread = std::thread([victim] {
      while (!closed) std::this_thread::yield();
      error = kill(victim, 0) == 0 ? 0 : errno;
    });
  };
  EXPECT_EQ(Inside(options,
                   [] {
                     closed = true;
                     thread.join();
                     return error == EPERM ? std::string()
                                           : std::strerror(error) + std::string("\n");
                   }),
            kDone);
}

TEST_F(Escapes, ADriverHasWhatItNeeds) {
  if (DetectSandbox().landlock_abi == 0) GTEST_SKIP() << "no landlock: there is no such sandbox";
  EXPECT_EQ(Inside(OptionsFor(Limits::SandboxKind::kDevice),
                   [] {
                     std::string missing;
                     const auto need = [&](const char* what, bool works) {
                       if (!works)
                         missing += what + std::string(": ") + std::strerror(errno) + "\n";
                     };
                     need("/dev/null", open("/dev/null", O_RDWR) >= 0);
                     need("/dev/zero", open("/dev/zero", O_RDWR) >= 0);
                     need("/dev/urandom", open("/dev/urandom", O_RDONLY) >= 0);
                     need("/proc/self/maps", open("/proc/self/maps", O_RDONLY) >= 0);
                     need("/sys/devices", open("/sys/devices", O_RDONLY | O_DIRECTORY) >= 0);
                     need("a library", open("/usr/lib", O_RDONLY | O_DIRECTORY) >= 0);
                     const int memory = memfd_create("m", MFD_CLOEXEC);
                     need("memory", memory >= 0 && ftruncate(memory, 4096) == 0);
                     need("mapping it", mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED,
                                             memory, 0) != MAP_FAILED);
                     need("eventfd", eventfd(0, EFD_CLOEXEC) >= 0);
                     int ends[2];
                     need("a pipe", pipe2(ends, O_CLOEXEC) == 0);
                     need("a pair", socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
                     need("sending", write(ends[0], "x", 1) == 1);
                     need("a socket", socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0) >= 0);
                     need("its flags", fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0);
                     rlimit limit;
                     need("its limits", getrlimit(RLIMIT_NOFILE, &limit) == 0);
                     need("setting them", setrlimit(RLIMIT_NOFILE, &limit) == 0);
                     cpu_set_t set;
                     need("its CPUs", sched_getaffinity(0, sizeof(set), &set) == 0);
                     need("choosing them", sched_setaffinity(0, sizeof(set), &set) == 0);
                     need("signals to itself", raise(0) == 0 && kill(getpid(), 0) == 0);
                     need("a thread's name", prctl(PR_SET_NAME, "driver") == 0);
                     bool ran = false;
                     std::thread([&] { ran = true; }).join();
                     need("threads", ran);
                     return missing;
                   }),
            kDone);
}

TEST_F(Escapes, ChildrenReadNothingOfTheTerminal) {
  Child::Options options = OptionsFor(Limits::SandboxKind::kCompute);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(write(ends[1], "secret", 6), 6);
  const int before = dup(STDIN_FILENO);
  dup2(ends[0], STDIN_FILENO);
  const std::string said = Inside(options, [] {
    char byte = 0;
    return read(STDIN_FILENO, &byte, 1) == 0 ? std::string() : "it read " + std::string(1, byte);
  });
  dup2(before, STDIN_FILENO);
  for (const int end : {ends[0], ends[1], before}) close(end);
  EXPECT_EQ(said, kDone);
}

// As on a kernel that was built or booted without landlock.
TEST_F(Escapes, ADriverHasNoSandboxWithoutLandlock) {
  if (DetectSandbox().landlock_abi == 0) GTEST_SKIP() << "this kernel itself has none";
  Child::Options options = OptionsFor(Limits::SandboxKind::kDevice);
  options.before = [] { (void)TakeLandlockAway(); };
  const std::string said = Inside(options, [] { return std::string("it runs\n"); });
  EXPECT_THAT(said, ::testing::HasSubstr("ended with code 2: this kernel has no landlock"));
  EXPECT_THAT(said, ::testing::HasSubstr("lsm=landlock"));
  options.limits.sandbox_kind = Limits::SandboxKind::kCompute;
  EXPECT_EQ(Inside(options, [] { return std::string(); }), kDone) << "the other has all it needs";
}

}  // namespace
}  // namespace mlc::testing
