// The view of a terminal: what it shows in which room, and how it is drawn again.
#include "client/progress/progress_block.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/progress/sparkline.h"
#include "client/progress/terminal_block.h"
#include "tests/unit/client/tune/half_done_job.h"

namespace mlc::client {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class ProgressBlockTest : public ::testing::Test {
 protected:
  ProgressBlockTest() {
    model_.tasks = {{"k0", "conv 3x3 64->64 56x56 s1 +add +max", "layer1.0.conv1", {3}, 2e6, 1e4},
                    {"k1", "matmul 1x2048 * 2048x1000 +add", "fc", {1}, 1e6, 1e9}};
    progress_ = HalfDoneJob({40'000.0, 380'000.0});
    progress_.set_elapsed_s(25);
    for (int i = 0; i < 8; ++i) progress_.add_outcomes(i == 3 ? 2 : 0);
    proto::JobProgress before = progress_;
    before.set_trials(0);
    before.set_elapsed_s(0);
    history_.Add(before, 900'000);
    history_.Add(progress_, 500'000);
  }

  std::vector<std::string> Block(size_t columns, size_t rows,
                                 Charset charset = Charset::kAscii) const {
    return ProgressBlock(model_, progress_, history_, {columns, rows, charset});
  }

  server::ModelInfo model_;
  proto::JobProgress progress_;
  JobHistory history_;
};

TEST_F(ProgressBlockTest, ShowsTasksLatencyTrialsRemarksAndTotals) {
  progress_.mutable_tasks(0)->set_under_way(3);
  progress_.mutable_tasks(1)->set_under_way(13);
  progress_.set_detail("waits for a worker");
  EXPECT_THAT(
      Block(79, 24),
      ElementsAre(" share      best roof   gain trials  use  task",
                  " 76.0%    380 us 26316%  2.00x     25   1x  matmul 1x2048 * 2048x1000 +add",
                  " 24.0%   40.0 us  50%  2.00x     25   3x  conv 3x3 64->64 56x56 s1 +add +max",
                  "latency 900 us #_ 500 us",
                  "trying 13 x matmul 1x2048 * 2048x1000 +add, 3 x conv 3x3 64->64 56x56 s1 +ad...",
                  "failed: 2 run_error, waits for a worker",
                  "50/100 trials, 0:25 left, model 500 us (2.00x), 2.0 trials/s"));
}

TEST_F(ProgressBlockTest, HasTheColumnsThatFit) {
  EXPECT_THAT(Block(40, 24)[1], StartsWith(" 76.0%    380 us  matmul 1x2048 * 20")) << "narrow";
  EXPECT_THAT(Block(40, 24)[1], ::testing::EndsWith("..."));
  EXPECT_THAT(Block(79, 24)[2], Not(HasSubstr("layer1.0.conv1")));
  EXPECT_THAT(Block(199, 24)[0], ::testing::EndsWith("label"));
  EXPECT_THAT(Block(199, 24)[2], ::testing::EndsWith("layer1.0.conv1"));
  EXPECT_EQ(Block(199, 24)[0].find("label"), Block(199, 24)[2].find("layer1.0.conv1"));
}

TEST_F(ProgressBlockTest, FitsEveryTerminal) {
  progress_.mutable_tasks(0)->set_under_way(3);
  progress_.set_detail("waits");
  for (size_t columns = 1; columns < 140; columns += 3) {
    for (size_t rows = 1; rows < 12; ++rows) {
      for (const Charset charset : {Charset::kAscii, Charset::kUtf8}) {
        const std::vector<std::string> lines = Block(columns, rows, charset);
        ASSERT_THAT(lines, Not(IsEmpty()));
        EXPECT_LE(lines.size(), rows);
        for (const std::string& line : lines) EXPECT_LE(ColumnsOf(line), columns) << line;
        const std::string totals = ProgressLine(model_, progress_, history_.SecondsLeft());
        const size_t compared = std::min(lines.back().size(), columns) / 2;
        EXPECT_EQ(lines.back().substr(0, compared), totals.substr(0, compared));
      }
    }
  }
}

TEST_F(ProgressBlockTest, SaysHowManyTasksAreLeftOut) {
  for (int i = 0; i < 20; ++i) model_.tasks.push_back(model_.tasks[0]);
  EXPECT_THAT(Block(79, 10), Contains("  and 17 lighter tasks"));
  EXPECT_EQ(Block(79, 10).size(), 10u);
}

TEST_F(ProgressBlockTest, NothingInItMovesTheCursor) {
  // Besides ASCII controls: C1 controls, of which U+009B begins a sequence, and turned text.
  progress_.set_detail(
      "a\n\x1b[2J\x07 \xc2\x9b"
      "2J \xe2\x80\xae K\xc3\xb6ln \xff");
  EXPECT_THAT(Block(199, 24, Charset::kUtf8), Contains(HasSubstr("a??[2J? ?2J ? K\xc3\xb6ln ?")));
  EXPECT_THAT(Block(199, 24, Charset::kAscii), Contains(HasSubstr("a??[2J? ?2J ? K?ln ?")));
}

TEST_F(ProgressBlockTest, AWaitingBlockKeepsTheTasks) {
  const std::vector<std::string> lines =
      WaitingBlock(model_, progress_, history_, std::chrono::seconds(65), {79, 24});
  EXPECT_THAT(lines.back(), StartsWith("no answer from the server for 1:05; waiting"));
  EXPECT_EQ(lines.size(), Block(79, 24).size());
}

TEST(TextColumnsTest, TheFirstVariableThatIsSetNamesTheCharset) {
  EXPECT_EQ(CharsetOf("", "", "de_DE.UTF-8"), Charset::kUtf8);
  EXPECT_EQ(CharsetOf("", "C.utf8", "C"), Charset::kUtf8);
  EXPECT_EQ(CharsetOf("C", "", "de_DE.UTF-8"), Charset::kAscii);
  EXPECT_EQ(CharsetOf("", "", "de_DE.ISO-8859-1"), Charset::kAscii);
  EXPECT_EQ(CharsetOf("", "", ""), Charset::kAscii);
}

TEST(TextColumnsTest, CountsColumns) {
  EXPECT_EQ(ColumnsOf("conv"), 4u);
  EXPECT_EQ(ColumnsOf("K\xc3\xb6ln"), 4u);
  EXPECT_EQ(ColumnsOf("\xe7\x8c\xab"), 2u) << "a Chinese character";
  EXPECT_EQ(ColumnsOf("e\xcc\x81"), 1u) << "a combining accent";
  EXPECT_EQ(ColumnsOf("\xf0\x9f\x98\x80"), 2u) << "an emoji";
  EXPECT_EQ(ColumnsOf("\xe2\x96\x88"), 1u) << "a bar";
  EXPECT_EQ(ColumnsOf("\xe2\x96"), 2u) << "bytes of a character that is cut";
}

TEST(TextColumnsTest, CutsAtColumnsAndNotInsideOfCharacters) {
  const std::string cats = "\xe7\x8c\xab\xe7\x8c\xab\xe7\x8c\xab";
  EXPECT_EQ(Fit(cats, 6, Charset::kUtf8), cats);
  EXPECT_EQ(Fit(cats, 5, Charset::kUtf8), cats.substr(0, 6) + "\xe2\x80\xa6");
  EXPECT_EQ(Fit(cats, 4, Charset::kUtf8), cats.substr(0, 3) + "\xe2\x80\xa6");
  EXPECT_EQ(Fit(cats, 3, Charset::kUtf8), cats.substr(0, 3)) << "no room for an ellipsis";
  EXPECT_EQ(Fit(cats, 5, Charset::kAscii), "???");
  EXPECT_EQ(Fit("a long name of a task", 12, Charset::kAscii), "a long na...");
  EXPECT_EQ(Fit("a long name of a task", 0, Charset::kAscii), "");
}

TEST(SparklineTest, DrawsTheCourse) {
  const std::vector<double> falling = {8, 7, 6, 5, 4, 3, 2, 1};
  EXPECT_EQ(Sparkline(falling, 60, Charset::kAscii), "#%*+=-._");
  EXPECT_EQ(Sparkline(falling, 4, Charset::kAscii), "%+-_") << "the last one of each column";
  EXPECT_EQ(Sparkline(falling, 2, Charset::kUtf8), "\xe2\x96\x85\xe2\x96\x81");
  EXPECT_EQ(Sparkline(std::vector<double>{5, 5}, 9, Charset::kAscii), "__");
  EXPECT_EQ(Sparkline({}, 9, Charset::kAscii), "");
  EXPECT_EQ(Sparkline(falling, 0, Charset::kAscii), "");
}

TEST(TerminalBlockTest, MovesUpOverWhatIsThere) {
  TerminalBlock block;
  EXPECT_EQ(block.Redraw({"one", "two"}, 80, 24), "one\x1b[K\ntwo\x1b[K\n\x1b[J");
  EXPECT_THAT(block.Redraw({"one", "two", "three"}, 80, 24), StartsWith("\x1b[2Fone"));
  EXPECT_THAT(block.Redraw({"one"}, 80, 24), StartsWith("\x1b[3Fone"));
}

TEST(TerminalBlockTest, CountsTheRowsOfWrappedLinesInColumns) {
  TerminalBlock block;
  (void)block.Redraw({"0123456789", "\xe7\x8c\xab\xe7\x8c\xab\xe7\x8c\xab"}, 80, 24);
  EXPECT_THAT(block.Redraw({"a"}, 5, 24), StartsWith("\x1b[4Fa")) << "two rows each";
}

TEST(TerminalBlockTest, ErasesWhatALowTerminalHadPushedOutWhenItIsHighAgain) {
  TerminalBlock block;
  const std::vector<std::string> high(12, "x");
  (void)block.Redraw(high, 80, 24);
  EXPECT_THAT(block.Redraw({"y", "y"}, 80, 5), StartsWith("\x1b[12Fy"));
  EXPECT_THAT(block.Redraw({"y", "y"}, 80, 5), StartsWith("\x1b[2Fy"));
  EXPECT_THAT(block.Redraw(high, 80, 24), StartsWith("\x1b[10Fx")) << "2 and the 8 above";
  EXPECT_THAT(block.Redraw(high, 80, 24), StartsWith("\x1b[12Fx"));
}

}  // namespace
}  // namespace mlc::client
