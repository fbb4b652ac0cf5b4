#include "client/local/private_folder.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

namespace mlc::client {
namespace {

using ::testing::HasSubstr;

class PrivateFolderTest : public ::testing::Test {
 protected:
  PrivateFolderTest() {
    std::filesystem::remove_all(parent_);
    std::filesystem::create_directories(parent_);
  }
  ~PrivateFolderTest() override { std::filesystem::remove_all(parent_); }

  // A process that has made its folder and waits to be killed.
  pid_t Owner(std::string& path) {
    int ready[2];
    EXPECT_EQ(pipe(ready), 0);
    const pid_t child = fork();
    if (child == 0) {
      auto folder = PrivateFolder::Create(parent_);
      if (!folder.ok()) _exit(1);
      std::ofstream(folder->path() + "/server.log") << "text";
      const std::string& name = folder->path();
      if (write(ready[1], name.data(), name.size()) < 0) _exit(1);
      while (true) pause();
    }
    char name[200];
    const ssize_t size = read(ready[0], name, sizeof name);
    path.assign(name, size > 0 ? static_cast<size_t>(size) : 0);
    close(ready[0]);
    close(ready[1]);
    return child;
  }
  static void Kill(pid_t child) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }

  const std::string parent_ = ::testing::TempDir() + "/mlc-private-folder";
};

TEST_F(PrivateFolderTest, IsForItsOwnerAloneAndEndsWithIt) {
  std::string path;
  {
    const auto folder = PrivateFolder::Create(parent_);
    ASSERT_TRUE(folder.ok()) << folder.status().ToString();
    path = folder->path();
    EXPECT_THAT(path, HasSubstr(parent_ + "/mlc-tune-"));
    EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms::owner_all);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(PrivateFolderTest, TheNextOneRemovesThoseOfTheDeadAlone) {
  std::string dead, living;
  const pid_t first = Owner(dead);
  const pid_t second = Owner(living);
  std::filesystem::create_directory(parent_ + "/mlc-tune-unborn");
  std::filesystem::create_directory(parent_ + "/somebody");
  std::filesystem::create_symlink(parent_ + "/somebody", parent_ + "/mlc-tune-link");
  std::ofstream(parent_ + "/mlc-tune-file") << "text";
  Kill(first);
  EXPECT_TRUE(std::filesystem::exists(dead + "/server.log"));
  const auto folder = PrivateFolder::Create(parent_);
  ASSERT_TRUE(folder.ok());
  EXPECT_FALSE(std::filesystem::exists(dead));
  EXPECT_FALSE(std::filesystem::exists(parent_ + "/mlc-tune-unborn"));
  EXPECT_TRUE(std::filesystem::exists(living + "/server.log"));
  for (const char* other : {"/somebody", "/mlc-tune-link", "/mlc-tune-file"}) {
    EXPECT_TRUE(std::filesystem::exists(parent_ + other)) << other;
  }
  Kill(second);
}

TEST_F(PrivateFolderTest, SaysWhyItCannotBeMade) {
  const Status status = PrivateFolder::Create(parent_ + "/none").status();
  EXPECT_EQ(status.code(), StatusCode::kUnwritable);
  EXPECT_THAT(status.message(), HasSubstr("cannot create a folder like " + parent_ + "/none"));
  EXPECT_THAT(status.message(), HasSubstr("No such file"));
}

}  // namespace
}  // namespace mlc::client
