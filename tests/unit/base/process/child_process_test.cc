#include "base/process/child_process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

namespace mlc::build {
namespace {

using ::testing::HasSubstr;

SandboxedJobs Jobs(int count, std::function<Status(int, std::span<const int>)> work) {
  SandboxedJobs jobs;
  jobs.count = count;
  jobs.parallel = 2;
  jobs.name = [](int job) { return "job " + std::to_string(job); };
  jobs.limits = [](int) { return CompilerLimits(/*foreign=*/true); };
  jobs.work = std::move(work);
  return jobs;
}

// Whoever starts a program may have it ignore the ends of its children.
TEST(Children, AreWaitedForWhereTheirEndsAreIgnored) {
  std::signal(SIGCHLD, SIG_IGN);
  alarm(60);  // it would wait for ever
  const Status status = RunInChildren(
      5, 2, [](int job) { return job == 3 ? InvalidArgument("job 3 says so") : Status(); });
  const Status crashed = RunInChildren(1, 1, [](int) -> Status { std::abort(); });
  alarm(0);
  std::signal(SIGCHLD, SIG_DFL);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "job 3 says so");
  EXPECT_THAT(crashed.message(), HasSubstr("ended without a report"));
}

TEST(Children, ReportEachCode) {
  for (int code = 1; code <= static_cast<int>(kLastStatusCode); ++code) {
    const Status sent(static_cast<StatusCode>(code), "so it is");
    EXPECT_EQ(RunInChildren(1, 1, [&](int) { return sent; }), sent);
  }
}

class SandboxedChildren : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!DetectSandbox().seccomp) GTEST_SKIP() << "no seccomp here, or a sanitizer";
  }
};

TEST_F(SandboxedChildren, WriteIntoWhatWasOpenedForThem) {
  const std::string folder = ::testing::TempDir() + "sandboxed-";
  const auto path = [&](int job) { return folder + std::to_string(job); };
  SandboxedJobs jobs = Jobs(5, [](int job, std::span<const int> files) -> Status {
    const std::string text = "made by " + std::to_string(job);
    return WriteAt(files[0], text.data(), static_cast<int64_t>(text.size()), 2)
               ? Status()
               : Internal(std::strerror(errno));
  });
  jobs.open = [&](int job) {
    return std::vector<int>{open(path(job).c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600)};
  };
  ASSERT_TRUE(RunSandboxed(jobs).ok());
  for (int job = 0; job < 5; ++job) {
    std::ifstream file(path(job), std::ios::binary);
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}),
              std::string(2, '\0') + "made by " + std::to_string(job));
    unlink(path(job).c_str());
  }
}

TEST_F(SandboxedChildren, OpenAndCallNothingAndHoldNothingElse) {
  const int secret = open("/dev/zero", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(secret, 0);
  const auto tried = [&](const std::function<bool()>& call) {
    const Status status = RunSandboxed(Jobs(1, [&](int, std::span<const int>) {
      return call() ? Status() : Internal(std::strerror(errno));
    }));
    return status.ok() ? "done" : status.message();
  };
  char byte = 0;
  EXPECT_EQ(tried([] { return open("/etc/passwd", O_RDONLY) >= 0; }),
            "job 0: Operation not permitted");
  EXPECT_EQ(tried([] { return socket(AF_INET, SOCK_STREAM, 0) >= 0; }),
            "job 0: Operation not permitted");
  EXPECT_EQ(tried([] { return fork() >= 0; }), "job 0: Operation not permitted");
  EXPECT_EQ(tried([&] { return read(secret, &byte, 1) == 1; }), "job 0: Bad file descriptor");
  EXPECT_EQ(tried([] {
              return mmap(nullptr, size_t{1} << 40, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                          0) != MAP_FAILED;
            }),
            "job 0: Cannot allocate memory");
  close(secret);
}

TEST_F(SandboxedChildren, FailuresAreToldApart) {
  const auto status = [](int cpu_seconds, const std::function<void()>& body) {
    SandboxedJobs jobs = Jobs(3, [&](int job, std::span<const int>) -> Status {
      if (job == 1) body();
      return {};
    });
    jobs.limits = [&](int) {
      Limits limits = CompilerLimits(/*foreign=*/true);
      limits.cpu_seconds = cpu_seconds;
      return limits;
    };
    return RunSandboxed(jobs);
  };
  const Status crash = status(60, [] {
    (void)!write(STDERR_FILENO, "last words", 10);
    std::raise(SIGABRT);
  });
  EXPECT_EQ(crash.code(), StatusCode::kInternal);
  EXPECT_THAT(crash.message(), HasSubstr("job 1: "));
  EXPECT_THAT(crash.message(), HasSubstr("signal Aborted: last words"));
  const Status endless = status(1, [] {
    volatile bool on = true;
    while (on) continue;
  });
  EXPECT_EQ(endless.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(endless.message(), HasSubstr("job 1: the compiler exceeded its limit of CPU time"));
  EXPECT_THAT(status(60, [] { _exit(0); }).message(), HasSubstr("without a report"));
}

TEST_F(SandboxedChildren, ALackOfMemoryIsToldFromACrash) {
  const auto status = [](const std::function<void()>& body) {
    SandboxedJobs jobs = Jobs(1, [&](int, std::span<const int>) -> Status {
      body();
      return {};
    });
    jobs.limits = [](int) {
      Limits limits = CompilerLimits(/*foreign=*/true);
      limits.memory_bytes = int64_t{64} << 20;
      return limits;
    };
    return RunSandboxed(jobs);
  };
  const std::function<void()> wants_much = [] {
    std::vector<std::string> kept;
    while (kept.size() < 100) kept.emplace_back(size_t{8} << 20, 'x');
  };
  const std::function<void()> as_llvm = [] {
    const std::string_view words = "LLVM ERROR: out of memory\n";
    (void)!write(STDERR_FILENO, words.data(), words.size());
    std::abort();
  };
  const std::function<void()> killed = [] { std::raise(SIGKILL); };
  for (const auto& body : {wants_much, as_llvm, killed}) {
    const Status lack = status(body);
    EXPECT_EQ(lack.code(), StatusCode::kResourceExhausted) << lack.ToString();
    EXPECT_THAT(lack.message(), HasSubstr("job 0: the compiler ran out of memory"));
  }
}

// The parent's mappings are the child's, too: they are no part of what it may use.
TEST_F(SandboxedChildren, HaveTheirMemoryBesideWhatTheParentHasMapped) {
  constexpr size_t kMapped = size_t{40} << 30;
  void* const mapped =
      mmap(nullptr, kMapped, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  const Status status = RunSandboxed(Jobs(1, [](int, std::span<const int>) -> Status {
    const std::string own(size_t{256} << 20, 'x');
    return own.back() == 'x' ? Status() : Internal("lost");
  }));
  EXPECT_TRUE(status.ok()) << status.ToString();
  munmap(mapped, kMapped);
}

TEST(TextFromSandbox, IsWhatWasMade) {
  const std::string long_text(5'000'000, 'x');
  EXPECT_EQ(
      *TextFromSandbox(CompilerLimits(false), [&]() -> Result<std::string> { return long_text; }),
      long_text);
  EXPECT_EQ(TextFromSandbox(CompilerLimits(false),
                            []() -> Result<std::string> { return NotFound("nothing"); })
                .status(),
            NotFound("nothing"));
}

}  // namespace
}  // namespace mlc::build
