// A lock whose holder was killed while a child of its still had the descriptor.
#include "base/process/file_lock.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <future>
#include <string>

namespace mlc::db {
namespace {

class FileLockTest : public ::testing::Test {
 protected:
  FileLockTest() { EXPECT_EQ(pipe(release_.data()), 0); }
  ~FileLockTest() override {
    Release();
    close(release_[0]);
    std::filesystem::remove(path_ + ".lock");
  }

  // A process takes the lock, starts a child that ends on Release(), and dies.
  void DieWithAChild() {
    const pid_t holder = fork();
    ASSERT_GE(holder, 0);
    if (holder == 0) {
      const Result<FileLock> lock = FileLock::Take(path_);
      if (!lock.ok()) _exit(1);
      const pid_t child = fork();
      if (child != 0) _exit(child > 0 ? 0 : 2);
      close(release_[1]);
      char byte = 0;
      (void)!read(release_[0], &byte, 1);
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(holder, &status, 0), holder);
    ASSERT_EQ(status, 0);
  }
  void Release() {
    if (release_[1] >= 0) close(release_[1]);
    release_[1] = -1;
  }

  const std::string path_ = ::testing::TempDir() + "mlc_file_lock_" + std::to_string(getpid());
  std::array<int, 2> release_ = {-1, -1};
};

TEST_F(FileLockTest, WhatTheDeadLeftToAChildIsWaitedFor) {
  DieWithAChild();
  std::future<Result<FileLock>> taken =
      std::async(std::launch::async, [&] { return FileLock::Take(path_); });
  Release();
  const Result<FileLock> lock = taken.get();
  EXPECT_TRUE(lock.ok()) << lock.status().message();
}

TEST_F(FileLockTest, WhatTheLivingHoldIsRefusedAtOnce) {
  const Result<FileLock> first = FileLock::Take(path_);
  ASSERT_TRUE(first.ok());
  const Result<FileLock> second = FileLock::Take(path_);
  EXPECT_EQ(second.status().code(), StatusCode::kAborted);
  EXPECT_NE(second.status().message().find("pid " + std::to_string(getpid())), std::string::npos);
}

}  // namespace
}  // namespace mlc::db
