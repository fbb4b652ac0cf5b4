// What every program says about itself.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>

#include "base/version.h"
#include "tests/golden/golden.h"

namespace mlc::golden {
namespace {

class Help : public testing::TestWithParam<const char*> {};

// All that a program writes when it is called with `flag`, which has to end well.
std::string Ask(const std::string& program, const std::string& flag) {
  FILE* pipe = popen(("'" + program + "' " + flag + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return "popen failed";
  std::string text;
  std::array<char, 4096> buffer;
  for (size_t n = 0; (n = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    text.append(buffer.data(), n);
  }
  EXPECT_EQ(pclose(pipe), 0) << text;
  return text;
}

TEST_P(Help, NamesTheRelease) {
  const std::string program = std::string(MLC_BINARY_DIR) + "/bin/" + GetParam();
  EXPECT_EQ(Ask(program, "--version"), VersionText(GetParam()) + "\n");
}

TEST_P(Help, IsTheOneOnRecord) {
  const std::string program = std::string(MLC_BINARY_DIR) + "/bin/" + GetParam();
  std::string text = Ask(program, "--help");
  // A program may name itself by the path it was called by.
  for (size_t at; (at = text.find(program)) != std::string::npos;) {
    text.replace(at, program.size(), GetParam());
  }
  Check(std::string("tests/golden/help/") + GetParam() + ".txt", text,
        "Options are an interface: they are added, and not renamed.");
}

INSTANTIATE_TEST_SUITE_P(Programs, Help,
                         testing::Values("mlc-tune", "mlc-compile", "mlc-run", "mlc-log",
                                         "mlc-server", "mlc-worker"),
                         [](const auto& info) {
                           std::string name = info.param;
                           name[3] = '_';
                           return name;
                         });

}  // namespace
}  // namespace mlc::golden
