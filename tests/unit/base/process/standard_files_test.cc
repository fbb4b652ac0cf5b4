#include "base/process/standard_files.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace mlc::transport {
namespace {

// A supervisor, or `trap '' CHLD` of a shell, has its programs ignore the ends of their children.
TEST(StandardFiles, HowChildrenEndedIsHeardWhoeverIgnoredIt) {
  std::signal(SIGCHLD, SIG_IGN);
  EnableChildWait();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(7);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

}  // namespace
}  // namespace mlc::transport
