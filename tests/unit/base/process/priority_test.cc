#include "base/process/priority.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace mlc::worker {
namespace {

constexpr int kNice = -3;

std::string Autogroup() {
  std::ifstream file("/proc/self/autogroup");
  std::string line;
  std::getline(file, line);
  return line;
}

bool MayRaise() {
  const pid_t pid = fork();
  if (pid == 0) _exit(setpriority(PRIO_PROCESS, 0, kNice) == 0 ? 0 : 1);
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// 0: as it should be; otherwise the number of the step that was not.
int RaiseInChild() {
  const pid_t pid = fork();
  if (pid == 0) {
    RaisePriority(kNice);
    if (getpriority(PRIO_PROCESS, 0) != kNice) _exit(1);
    if (getsid(0) != getpid()) _exit(2);
    const std::string group = Autogroup();
    _exit(group.empty() || group.find("nice " + std::to_string(kNice)) != std::string::npos ? 0
                                                                                            : 3);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(RaisePriority, CountsAgainstOtherSessionsAndLeavesTheCallersAlone) {
  if (!MayRaise()) GTEST_SKIP() << "raising priorities takes privileges";
  const std::string before = Autogroup();
  EXPECT_EQ(RaiseInChild(), 0);
  EXPECT_EQ(Autogroup(), before);
}

}  // namespace
}  // namespace mlc::worker
