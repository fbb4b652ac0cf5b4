// What every program says to a command line that it cannot take.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "base/exit_code.h"

namespace mlc::golden {
namespace {

// Its first line, and how it ended.
std::pair<std::string, int> Call(const std::string& program, const std::string& arguments) {
  const std::string command = std::string("'") + MLC_BINARY_DIR + "/bin/" + program + "' " +
                              arguments + " 2>&1 < /dev/null";
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return {"popen failed", -1};
  std::string text;
  std::array<char, 4096> buffer;
  for (size_t n = 0; (n = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    text.append(buffer.data(), n);
  }
  const int status = pclose(pipe);
  return {text.substr(0, text.find('\n')), WIFEXITED(status) ? WEXITSTATUS(status) : -1};
}

struct Line {
  std::string program;
  std::string arguments;
  std::string answer;
};

void Expect(const std::vector<Line>& lines) {
  for (const Line& line : lines) {
    const auto [said, code] = Call(line.program, line.arguments);
    EXPECT_EQ(said, line.answer) << line.program << " " << line.arguments;
    EXPECT_EQ(code, static_cast<int>(ExitCode::kUsage)) << line.program << " " << line.arguments;
  }
}

TEST(ArgumentsTest, UnknownOnesAreNamedFirst) {
  const std::string one = "The following argument was not expected: ";
  const std::string more = "The following arguments were not expected: ";
  std::vector<Line> lines;
  for (const char* program :
       {"mlc-tune", "mlc-compile", "mlc-run", "mlc-log", "mlc-server", "mlc-worker"}) {
    lines.push_back({program, "--bogus", one + "--bogus"});
    lines.push_back({program, "--bogus=3", one + "--bogus=3"});
    lines.push_back({program, "-z", one + "-z"});
    lines.push_back({program, "--bogus -z --", more + "--bogus -z"});
  }
  lines.insert(lines.end(),
               {{"mlc-tune", "--bogus --model", one + "--bogus"},
                {"mlc-tune", "--model a.onnx --bogus", one + "--bogus"},
                {"mlc-tune", "stray", one + "stray"},
                {"mlc-tune", "jobs --bogus", one + "--bogus"},
                {"mlc-tune", "jobs workers", one + "workers"},
                {"mlc-tune", "--jobs", one + "--jobs"},
                {"mlc-compile", "stray", one + "stray"},
                {"mlc-compile", "--bogus --output", one + "--bogus"},
                {"mlc-compile", "--model a.onnx --bogus", one + "--bogus"},
                {"mlc-compile", "--model a.onnx -o out one two three", more + "one two three"},
                {"mlc-run", "folder --bogus", one + "--bogus"},
                {"mlc-run", "folder stray", one + "stray"},
                {"mlc-log", "stray", one + "stray"},
                {"mlc-log", "stats --bogus", one + "--bogus"},
                {"mlc-log", "stats a.db --bogus", one + "--bogus"},
                {"mlc-log", "stats a.db one two", more + "one two"},
                {"mlc-log", "show a.db --bogus", one + "--bogus"},
                {"mlc-log", "merge --bogus a.db", one + "--bogus"},
                {"mlc-server", "stray", one + "stray"},
                {"mlc-server", "--log a.db --bogus", one + "--bogus"},
                {"mlc-server", "--bogus --grace-ms soon", one + "--bogus"},
                {"mlc-worker", "stray", one + "stray"},
                {"mlc-worker", "--server a:1 --bogus", one + "--bogus"}});
  Expect(lines);
}

TEST(ArgumentsTest, ThenWhatIsMissing) {
  Expect({{"mlc-tune", "--model", "--model: 1 required TEXT missing"},
          {"mlc-tune", "", "--model is required"},
          {"mlc-tune", "jobs", "jobs needs --server"},
          {"mlc-tune", "cancel", "JOB is required"},
          {"mlc-compile", "--model", "--model: 1 required TEXT missing"},
          {"mlc-compile", "", "--model is required"},
          {"mlc-run", "--inputs", "--inputs: 1 required TEXT missing"},
          {"mlc-run", "", "DIR: give either the folder of a compiled model or --reference MODEL"},
          {"mlc-log", "", "A subcommand is required"},
          {"mlc-log", "stats", "FILE is required"},
          {"mlc-log", "show a.db", "RECORD is required"},
          {"mlc-server", "--log", "--log: 1 required TEXT missing"},
          {"mlc-server", "--grace-ms soon", "--grace-ms: Value soon not in range 0 to 600000"},
          {"mlc-worker", "--server", "--server: 1 required TEXT missing"}});
}

}  // namespace
}  // namespace mlc::golden
