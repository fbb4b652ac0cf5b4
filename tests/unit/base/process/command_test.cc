#include "base/process/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

namespace mlc::server::fleet {
namespace {

using ::testing::HasSubstr;

Command Shell(const std::string& script) {
  Command command;
  command.words = {"/bin/sh", "-c", script};
  return command;
}

TEST(RunCommandTest, PassesInputArgumentsAndEnvironmentAndGathersBothOutputs) {
  Command command = Shell("cat; printf '%s' \"$1\" \"$PLACE\" >&2; exit 3");
  command.words.insert(command.words.end(), {"name", "a b;$(c) *"});
  command.environment = {"PLACE=here"};
  command.input = std::string(300'000, 'x');
  const auto done = RunCommand(command, {});
  ASSERT_TRUE(done.ok()) << done.status().ToString();
  EXPECT_EQ(done->code, 3);
  EXPECT_EQ(done->output, command.input);
  EXPECT_EQ(done->errors, "a b;$(c) *here");
}

TEST(RunCommandTest, ACommandThatIgnoresItsInputIsNoError) {
  Command command = Shell("echo done");
  command.input = std::string(5'000'000, 'x');
  const auto done = RunCommand(command, {});
  ASSERT_TRUE(done.ok()) << done.status().ToString();
  EXPECT_EQ(done->output, "done\n");
}

TEST(RunCommandTest, SaysWhatIsMissing) {
  Command command;
  command.words = {"mlc-no-such-program"};
  EXPECT_THAT(RunCommand(command, {}).status().message(), HasSubstr("mlc-no-such-program"));
}

TEST(RunCommandTest, KillsAllThatACommandStartedWhenItsTimeIsOver) {
  const std::string file = ::testing::TempDir() + "/mlc-command-test-" + std::to_string(getpid());
  Command command = Shell("sleep 600 & echo $! > " + file + "; wait");
  command.timeout_ms = 5'000;
  const auto done = RunCommand(command, {});
  EXPECT_EQ(done.status().code(), StatusCode::kDeadlineExceeded);
  FILE* opened = std::fopen(file.c_str(), "r");
  int pid = 0;
  ASSERT_TRUE(opened != nullptr && std::fscanf(opened, "%d", &pid) == 1);
  std::fclose(opened);
  std::filesystem::remove(file);
  // Killed; init may take a moment to bury it.
  const auto alive = [&] {
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string text;
    return std::getline(stat, text) && text.find(") Z ") == std::string::npos;
  };
  while (alive()) std::this_thread::yield();
}

TEST(RunCommandTest, EndsWhenItIsNotWantedAnyMore) {
  std::stop_source stop;
  std::jthread later([&] { stop.request_stop(); });
  EXPECT_EQ(RunCommand(Shell("sleep 600"), stop.get_token()).status().code(),
            StatusCode::kCancelled);
}

TEST(RunCommandTest, DoesNotWaitForWhatACommandLeavesBehind) {
  const auto done = RunCommand(Shell("sleep 600 & echo out"), {});
  ASSERT_TRUE(done.ok());
  EXPECT_EQ(done->output, "out\n");
}

TEST(RunCommandTest, RefusesFloods) {
  const auto done = RunCommand(Shell("yes"), {});
  EXPECT_EQ(done.status().code(), StatusCode::kInvalidArgument);
}

TEST(RunCheckedTest, AnExitCodeIsAnErrorWithTheCommandsFirstWords) {
  const Status status = RunChecked(Shell("echo why >&2; echo more >&2; exit 7"), {}).status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("ended with 7: why"));
  EXPECT_THAT(status.message(), ::testing::Not(HasSubstr("more")));
}

TEST(RunCheckedTest, TheCommandHearsSignalsThatTheServerBlocks) {
  sigset_t set, old;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &set, &old);
  const auto done = RunCommand(Shell("kill -TERM $$; sleep 600"), {});
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
  ASSERT_TRUE(done.ok());
  EXPECT_EQ(done->code, 128 + SIGTERM);
}

}  // namespace
}  // namespace mlc::server::fleet
