// mlc-tune on terminals of many sizes: what a person sees when it runs, is resized, is interrupted.
#include "tests/crash/terminal.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/crash/process.h"

namespace mlc::crash {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kCtrlC = '\x03';

struct Size {
  int columns;
  int rows;
};

class TerminalTest : public ::testing::TestWithParam<Size> {
 protected:
  TerminalTest() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ + "/tiny.onnx", std::ios::binary) << TinyModel();
  }
  ~TerminalTest() override { std::filesystem::remove_all(folder_); }

  std::vector<std::string> Tune(int trials) const {
    const std::string binaries = MLC_BINARY_DIR;
    return {binaries + "/bin/mlc-tune",
            "--model",
            folder_ + "/tiny.onnx",
            "--trials",
            std::to_string(trials),
            "--log",
            folder_ + "/tuning.db",
            "--worker",
            binaries + "/tests/mlc-fake-worker",
            "--target",
            "cpu",
            "--threads",
            "2"};
  }
  // Lines may be wrapped: the text without line ends.
  static std::string Unwrapped(const Terminal& terminal) {
    std::string text;
    for (const std::string& line : terminal.Lines()) text += line;
    return text;
  }
  static int Count(const std::string& text, const std::string& part) {
    int count = 0;
    for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++count;
    return count;
  }

  const std::string folder_ = ::testing::TempDir() + "/mlc-terminal" + std::to_string(getpid());
};

TEST_P(TerminalTest, CtrlCDrainsKeepsAndTellsHowToGoOn) {
  Terminal terminal(GetParam().columns, GetParam().rows);
  terminal.Start(Tune(100'000));
  ASSERT_TRUE(terminal.WaitFor("/100000 tr")) << terminal.Text();
  terminal.Press(kCtrlC);
  EXPECT_EQ(terminal.Finish(), 130) << terminal.Text();
  EXPECT_THAT(terminal.garbage(), IsEmpty());
  const std::string text = Unwrapped(terminal);
  EXPECT_EQ(Count(text, "/100000 tr"), 1) << "one block, redrawn in its place\n" << terminal.Text();
  EXPECT_THAT(text, HasSubstr("Interrupted; everything measured is kept. Go on with:"));
  EXPECT_THAT(text, HasSubstr("mlc-tune --model " + folder_ + "/tiny.onnx --trials 100000"));
  EXPECT_EQ(terminal.cursor_column(), 0) << "the shell's prompt gets a line of its own";
}

TEST_P(TerminalTest, AFinishedRunLeavesItsLastBlockAndItsTable) {
  Terminal terminal(GetParam().columns, GetParam().rows);
  terminal.Start(Tune(300));
  EXPECT_EQ(terminal.Finish(), 0) << terminal.Text();
  EXPECT_THAT(terminal.garbage(), IsEmpty());
  const std::string text = Unwrapped(terminal);
  EXPECT_EQ(Count(text, "300/300 tr"), 1) << terminal.Text();
  EXPECT_EQ(Count(text, "/300 tr"), 1) << "one block, redrawn in its place\n" << terminal.Text();
  EXPECT_THAT(text, HasSubstr("Compile it with:"));
  EXPECT_EQ(terminal.cursor_column(), 0);
}

TEST_P(TerminalTest, InALocaleOfUtf8ItHasTheSameLines) {
  Terminal terminal(GetParam().columns, GetParam().rows, "C.UTF-8");
  terminal.Start(Tune(3000));
  EXPECT_EQ(terminal.Finish(), 0) << terminal.Text();
  EXPECT_THAT(terminal.garbage(), IsEmpty());
  EXPECT_EQ(Count(Unwrapped(terminal), "/3000 tr"), 1) << terminal.Text();
}

INSTANTIATE_TEST_SUITE_P(Sizes, TerminalTest,
                         ::testing::Values(Size{100, 30}, Size{40, 10}, Size{20, 4}, Size{24, 2}),
                         [](const auto& info) {
                           return std::to_string(info.param.columns) + "x" +
                                  std::to_string(info.param.rows);
                         });

TEST_F(TerminalTest, AResizedTerminalShowsOneBlock) {
  Terminal terminal(120, 24);
  terminal.Start(Tune(100'000));
  ASSERT_TRUE(terminal.WaitFor("/100000 tr")) << terminal.Text();
  // Nothing is written while the size changes.
  terminal.Pause();
  terminal.Settle();
  terminal.Resize(50, 24);
  terminal.Continue();
  terminal.Press(kCtrlC);
  EXPECT_EQ(terminal.Finish(), 130) << terminal.Text();
  EXPECT_THAT(terminal.garbage(), IsEmpty());
  EXPECT_EQ(Count(Unwrapped(terminal), "/100000 tr"), 1) << terminal.Text();
}

// Lines that a lower terminal pushed out come back when it is higher, and are drawn over.
TEST_F(TerminalTest, ATerminalMadeLowerAndHigherAgainShowsOneBlock) {
  Terminal terminal(100, 24);
  terminal.Start(Tune(100'000));
  ASSERT_TRUE(terminal.WaitFor("/100000 tr")) << terminal.Text();
  for (const int rows : {4, 24, 2, 30}) {
    terminal.Pause();
    terminal.Settle();
    terminal.Resize(100, rows);
    terminal.Continue();
    terminal.Settle();
  }
  terminal.Press(kCtrlC);
  EXPECT_EQ(terminal.Finish(), 130) << terminal.Text();
  EXPECT_THAT(terminal.garbage(), IsEmpty());
  EXPECT_EQ(Count(Unwrapped(terminal), "/100000 tr"), 1) << terminal.Text();
}

TEST_F(TerminalTest, WhoAsksForPlainLinesGetsNoSequences) {
  const std::vector<std::string> asks[] = {{"--plain"},
                                           {"/usr/bin/env", "NO_COLOR=1"},
                                           {"/usr/bin/env", "TERM=dumb"},
                                           {"/usr/bin/env", "-u", "TERM"}};
  for (const std::vector<std::string>& ask : asks) {
    std::vector<std::string> command = Tune(20);
    command.insert(ask[0] == "--plain" ? command.end() : command.begin(), ask.begin(), ask.end());
    Terminal terminal(80, 24, "C.UTF-8");
    terminal.Start(command);
    EXPECT_EQ(terminal.Finish(), 0) << terminal.Text();
    EXPECT_EQ(terminal.sequences(), 0) << ask.back();
    EXPECT_THAT(terminal.Text(), HasSubstr("20/20 trials, ")) << ask.back();
    EXPECT_THAT(terminal.garbage(), IsEmpty());
  }
  Terminal terminal(80, 24);
  std::vector<std::string> command = Tune(20);
  command.insert(command.begin(), {"/usr/bin/env", "NO_COLOR="});
  terminal.Start(command);
  EXPECT_EQ(terminal.Finish(), 0) << terminal.Text();
  EXPECT_GT(terminal.sequences(), 0) << "an empty variable asks for nothing";
}

}  // namespace
}  // namespace mlc::crash
