// The programs where shells put them: with outputs that nobody takes, files that cannot be used,
// and signals that are ignored or come early.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/crash/process.h"

namespace mlc::crash {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ConsoleTest : public ::testing::Test {
 protected:
  ConsoleTest() {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = ::testing::TempDir() + "/mlc-console-" + std::to_string(getpid()) + info->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    setenv("FAKE_WORKER_ACKS", Path("acks").c_str(), 1);
    std::ofstream(Path("tiny.onnx"), std::ios::binary) << TinyModel();
  }
  ~ConsoleTest() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  // A command of bash in the folder, with `tune` for a run with `--trials N --log FILE` to be
  // added.
  pid_t Start(const std::string& command) {
    std::filesystem::remove(Path("said"));
    const std::string binaries = MLC_BINARY_DIR;
    return Spawn({"/bin/bash", "-c",
                  "PATH='" + binaries + "/bin':$PATH; cd '" + folder_ +
                      "'; tune=\"mlc-tune --model tiny.onnx --target cpu --threads 2 --worker " +
                      binaries + "/tests/mlc-fake-worker\"; " + command},
                 Path("said"));
  }
  int Run(const std::string& command) { return Wait(Start(command)); }
  std::string Said() const {
    std::ifstream file(Path("said"));
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  size_t Acknowledged() const {
    std::error_code none;
    const auto size = std::filesystem::file_size(Path("acks"), none);
    return none ? 0 : size;
  }
  void WaitForMoreThan(size_t acknowledged, pid_t program) const {
    while (Acknowledged() <= acknowledged && Running(program)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

  std::string folder_;
};

TEST_F(ConsoleTest, OutputThatNobodyTakesIsAFailure) {
  EXPECT_EQ(Run("$tune --trials 20 --log a.db > /dev/full"), 73) << Said();
  EXPECT_THAT(Said(), HasSubstr("mlc-tune: cannot write to standard output: "));
  EXPECT_EQ(Run("$tune --trials 20 --log a.db > kept"), 0) << "measured it was\n" << Said();
  EXPECT_EQ(Run("$tune --trials 100000 --log b.db --json-lines | head -n 1 > first; "
                "exit ${PIPESTATUS[0]}"),
            73)
      << Said();
  EXPECT_THAT(Said(), HasSubstr("cannot write to standard output: the reader has closed it"));
  for (const char* command :
       {"mlc-tune --help", "mlc-server --help", "mlc-worker --version", "mlc-log stats a.db",
        "mlc-log export a.db", "mlc-compile --model tiny.onnx --emit=graph"}) {
    EXPECT_EQ(Run(std::string(command) + " > /dev/full"), 73) << command << "\n" << Said();
    EXPECT_THAT(Said(), HasSubstr("cannot write")) << command;
  }
}

TEST_F(ConsoleTest, AFailedExportLeavesTheFileAsItWas) {
  ASSERT_EQ(Run("$tune --trials 200 --log a.db"), 0) << Said();
  // Room for the 32 KiB that reading a log takes, not for the lines.
  EXPECT_EQ(Run("echo kept > lines; trap '' XFSZ; ulimit -f 48; mlc-log export a.db lines"), 73)
      << Said();
  EXPECT_THAT(Said(), HasSubstr("lines: cannot write the export"));
  EXPECT_EQ(Run("[ \"$(cat lines)\" = kept ] && [ \"$(echo lines*)\" = lines ]"), 0);
  EXPECT_EQ(Run("mlc-log export a.db lines && mlc-log import b.db lines"), 0) << Said();
  EXPECT_EQ(Run("mlc-log export a.db /dev/full"), 73) << Said();
  EXPECT_EQ(Run("mlc-log export a.db /dev/stdout > lines && mlc-log import c.db lines"), 0)
      << Said();
}

// What is opened next gets the number of a closed output, and the words that were meant for it.
TEST_F(ConsoleTest, ClosedOutputsWriteIntoNoFile) {
  EXPECT_EQ(Run("$tune --trials 20 --log a.db >&-"), 73) << Said();
  EXPECT_THAT(Said(), HasSubstr("cannot write to standard output"));
  EXPECT_EQ(Run("$tune --trials 40 --log a.db <&- >&- 2>&-"), 73);
  EXPECT_EQ(Run("mlc-log verify a.db"), 0) << Said();
  EXPECT_EQ(Run("[ \"$(cat a.db.lock | wc -l)\" -le 1 ]"), 0) << "the holder's number alone";
  EXPECT_EQ(Run("mlc-log export a.db lines <&- >&- 2>&- && mlc-log import b.db lines"), 0)
      << Said();
}

TEST_F(ConsoleTest, LogsAreNotOverwritten) {
  ASSERT_EQ(Run("$tune --trials 20 --log a.db"), 0) << Said();
  for (const char* command :
       {"mlc-log export a.db a.db", "mlc-log snapshot a.db a.db", "mlc-log snapshot a.db ./a.db"}) {
    EXPECT_EQ(Run(command), 73) << command << "\n" << Said();
    EXPECT_THAT(Said(), HasSubstr("a.db: it is the log itself")) << command;
  }
  EXPECT_EQ(Run("mlc-log verify a.db"), 0) << Said();
  // What cannot be read leaves no empty log behind.
  EXPECT_EQ(Run("mlc-log import b.db none"), 3) << Said();
  EXPECT_EQ(Run("mlc-log merge b.db none"), 3) << Said();
  EXPECT_FALSE(std::filesystem::exists(Path("b.db")));
  EXPECT_EQ(Run("mlc-log import b.db ."), 74) << Said();
  EXPECT_THAT(Said(), HasSubstr("reading it failed"));
}

TEST_F(ConsoleTest, FilesThatCannotBeUsedAreNamed) {
  ASSERT_EQ(Run("$tune --trials 20 --log a.db && mlc-log snapshot a.db newer.db"), 0) << Said();
  // SQLite's user_version: this program's schema is of a lower one.
  ASSERT_EQ(Run("printf '\\0\\0\\3\\347' | dd of=newer.db bs=1 seek=60 conv=notrunc status=none"),
            0);
  ASSERT_EQ(Run("echo this is no database and long enough to be seen as such > words.db"), 0);
  struct Case {
    const char* command;
    int code;
    const char* words;
  };
  for (const Case& wrong : {
           Case{"mlc-tune --model no.onnx --trials 5", 65, "'no.onnx': No such file"},
           Case{"mlc-tune --model / --trials 5", 65, "'/' is not a regular file"},
           Case{"mlc-compile --model no.onnx -o out", 65, "'no.onnx': No such file"},
           Case{"$tune --trials 5 --log .", 65, ". is a folder, not a tuning log"},
           Case{"$tune --trials 5 --log ''", 65, "a tuning log needs a name"},
           Case{"$tune --trials 5 --log none/a.db", 73, "cannot create none/a.db.lock"},
           Case{"$tune --trials 5 --log newer.db", 78, "newer.db is from a newer mlc-tune"},
           Case{"$tune --trials 5 --log words.db", 74, "file is not a database"},
           Case{"mlc-log stats .", 65, ". is a folder, not a tuning log"},
           Case{"mlc-tune --model tiny.onnx --target cpu --trials 5 --worker none", 69,
                "no worker program none"},
           Case{"mlc-tune --model tiny.onnx --target cpu --trials 5 --log b.db --worker /bin/false",
                69,
                "mlc-tune: `/bin/false --doctor` says why this machine cannot tune: "
                "/bin/false "
                "ended with code 1, 2 times and printed nothing"},
       }) {
    EXPECT_EQ(Run(wrong.command), wrong.code) << wrong.command << "\n" << Said();
    EXPECT_THAT(Said(), HasSubstr(wrong.words)) << wrong.command;
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ + ".lock")) << "beside a folder";
  EXPECT_FALSE(std::filesystem::exists(Path(".lock")));
}

// The bytes are those of a model; nothing else of a run is needed.
TEST_F(ConsoleTest, ADryRunNeedsNeitherLogNorWorker) {
  EXPECT_EQ(Run("mlc-tune --dry-run --model tiny.onnx --target cpu --threads 2 --worker none"), 0)
      << Said();
  EXPECT_THAT(Said(), HasSubstr("MatMul 5"));
  EXPECT_THAT(Said(), HasSubstr("5 tasks, 5 executions:"));
  EXPECT_THAT(Said(), HasSubstr("320 trials (usual for so many tasks) take about "));
  EXPECT_THAT(Said(), HasSubstr("The model can be tuned."));
  EXPECT_EQ(Run("[ \"$(ls)\" = \"$(printf 'said\ntiny.onnx')\" ]"), 0) << "no log";
  // Operators of the same length that do not exist.
  EXPECT_EQ(Run("sed 's/MatMul/MatMuX/g' tiny.onnx > odd.onnx; mlc-tune --dry-run --model "
                "odd.onnx --target cpu"),
            65);
  EXPECT_THAT(Said(), HasSubstr("not supported, in 5 places:\n  MatMuX 'c0', 'c1', 'c2', 'c3' and "
                                "others, 5 in all: the operator is not supported"));
  EXPECT_EQ(Run("mlc-tune --dry-run --json --model odd.onnx --target cpu > odd.json"), 65);
  EXPECT_EQ(Run("grep -q '\"schema\":\"mlc.dry-run/1\".*\"can_be_tuned\":false' odd.json"), 0);
  EXPECT_EQ(Run("mlc-tune --dry-run --model no.onnx --target cpu"), 65);
  EXPECT_EQ(Run("mlc-tune --dry-run --model tiny.onnx --server unix:none"), 2);
  EXPECT_EQ(Run("mlc-tune --dry-run"), 2) << "no model";
}

TEST_F(ConsoleTest, AWorkerThatRefusesToRunIsNotStartedAgain) {
  const std::string worker =
      "printf '#!/bin/sh\\necho >> starts\\necho mlc-worker: take another machine\\nexit 78\\n' > "
      "refuses; chmod +x refuses; ";
  EXPECT_EQ(Run(worker + "mlc-tune --model tiny.onnx --trials 5 --log a.db --worker ./refuses"), 69)
      << Said();
  EXPECT_THAT(Said(), HasSubstr("mlc-tune: take another machine (./refuses ended with code 78)"));
  EXPECT_EQ(Run("[ \"$(wc -l < starts)\" = 1 ]"), 0) << "one start";
}

TEST_F(ConsoleTest, AFileAtItsLimitIsAnErrorInWords) {
  EXPECT_EQ(Run("ulimit -f 64; $tune --trials 20 --log a.db"), 75) << Said();
  EXPECT_THAT(Said(), HasSubstr("a.db: database or disk is full"));
  EXPECT_EQ(Run("$tune --trials 20 --log a.db"), 0) << "with space again\n" << Said();
}

TEST_F(ConsoleTest, WhatNohupHasIgnoredStaysIgnored) {
  const pid_t tune = Start("trap '' HUP; exec $tune --trials 100000 --log a.db");
  WaitForMoreThan(0, tune);
  ASSERT_EQ(kill(tune, SIGHUP), 0);
  WaitForMoreThan(Acknowledged() + 2000, tune);
  ASSERT_TRUE(Running(tune)) << Said();
  kill(tune, SIGTERM);
  EXPECT_EQ(Wait(tune), 130) << Said();
  EXPECT_THAT(Said(), HasSubstr("everything measured is kept"));
}

TEST_F(ConsoleTest, AnInterruptBeforeThereIsAnythingToKeepEndsAtOnce) {
  // A server that takes connections and never answers.
  const int silent = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  Path("silent").copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(bind(silent, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(listen(silent, 8), 0);
  // The signal waits for the program.
  sigset_t interrupt;
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  sigprocmask(SIG_BLOCK, &interrupt, nullptr);
  const pid_t tune = Start("kill -INT $$; exec $tune --trials 20 --server unix:silent");
  sigprocmask(SIG_UNBLOCK, &interrupt, nullptr);
  EXPECT_EQ(Wait(tune), 130) << Said();
  EXPECT_THAT(Said(), HasSubstr("mlc-tune: interrupted"));
  EXPECT_THAT(Said(), Not(HasSubstr("no mlc-server answers")));
  close(silent);
}

}  // namespace
}  // namespace mlc::crash
